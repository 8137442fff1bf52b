/** A finding as a rule makes it, and the code it is about: what reports, baselines and suppressions get. */
import type { Finding, SourceSpan } from '../../src/finding.ts'

export const sampleFile = 'src/client.ts'

export const sampleText = `import { open, type Session } from './session.ts'

export class Client {
  #session: Session | undefined
  readonly #url: string

  constructor(url: string) {
    this.#url = url
  }

  async connect(): Promise<Session> {
    if (this.#session !== undefined) return this.#session
    const session = await open(this.#url)
    this.#session = session
    return session
  }
}
`

/** Where a piece of the text is; its first occurrence, or the one that is asked for. */
export function spanOf(
  text: string,
  piece: string,
  { file = sampleFile, nth = 1 }: { file?: string; nth?: number } = {},
): SourceSpan {
  let start = -1
  for (let i = 0; i < nth; i++) start = text.indexOf(piece, start + 1)
  if (start < 0) throw new Error(`${JSON.stringify(piece)} is not in the text`)
  const [line, column] = positionAt(text, start)
  const [endLine, endColumn] = positionAt(text, start + piece.length)
  return { file, line, column, endLine, endColumn }
}

function positionAt(text: string, offset: number): [line: number, column: number] {
  const lines = text.slice(0, offset).split('\n')
  return [lines.length, lines.at(-1)!.length + 1]
}

export function sampleFinding(text = sampleText, changes: Partial<Finding> = {}): Finding {
  const checkSpan = spanOf(text, 'this.#session !== undefined')
  // Text that was edited between check and act has its own spans, given in `changes`.
  const suspension = text.includes('await open(this.#url)')
    ? spanOf(text, 'await open(this.#url)')
    : checkSpan
  const actSpan = spanOf(text, 'this.#session = session')
  const name = 'Client.#session'
  const connect = 'Client.connect'
  return {
    fingerprint: '0123456789abcdef',
    rule: 'H101',
    class: 'toctou',
    level: 'error',
    message: '`Client.#session` is checked before an await and set after it',
    file: sampleFile,
    function: connect,
    line: checkSpan.line,
    check: checkSpan.line,
    act: actSpan.line,
    checkSpan,
    actSpan,
    suspension,
    conflict: actSpan,
    shared: [
      {
        name,
        scope: 'instance',
        writers: [{ function: connect, kind: 'write', span: actSpan }],
        readers: [{ function: connect, kind: 'read', span: checkSpan }],
      },
      {
        name: 'Client.#url',
        scope: 'instance',
        writers: [],
        readers: [{ function: connect, kind: 'read', span: suspension }],
        guard: 'never written after construction',
      },
    ],
    checkpoints: [{ span: suspension, kind: 'await', note: `${name} may be set when it goes on` }],
    trace: [
      { task: 'A', text: 'this.#session is undefined', span: checkSpan },
      { task: 'A', text: 'await open(this.#url)', span: suspension, isCheckpoint: true },
      { task: 'B', text: 'this.#session is still undefined', span: checkSpan },
      { task: 'B', text: 'await open(this.#url)', span: suspension, isCheckpoint: true },
      { task: 'A', text: 'this.#session = session', span: actSpan },
      { task: 'B', text: 'this.#session = session: the first session leaks', span: actSpan },
    ],
    window: [2, 5],
    evidence: ['connect is public: two callers on one Client overlap'],
    fixes: [
      {
        title: 'Share the promise, not the value',
        sketch: 'connect() {\n  return (this.#session ??= open(this.#url))\n}',
        closes: [2, 4],
        tradeoffs: 'A failed open is shared too: clear the field when it rejects.',
        risk: 'low',
        effort: 'simple',
      },
      {
        title: 'Hold a mutex over check and act',
        sketch: 'using _ = await this.#lock.acquire()',
        closes: [1, 6],
        tradeoffs: 'Callers wait for each other, also when the session is there.',
        risk: 'medium',
        effort: 'moderate',
      },
    ],
    schedule: { hold: suspension, until: actSpan },
    key: name,
    ...changes,
  }
}
