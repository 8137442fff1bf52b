/**
 * The analyzer as a language server, apart from the streams it talks over.
 *
 *   created ── initialize ──▶ ready ── shutdown ──▶ ended
 *      └──────────── exit ───────┴──────── exit ──────┴──▶ gone
 *
 * L1. One analysis at a time. Changes during an analysis start one more after it, however many they are.
 * L2. The text of an open document wins over the file until the document is closed.
 * L3. The list of a file is sent when it differs from the one sent last; a file that has no findings any
 *     more gets an empty one.
 * L4. A request before `initialize` and one after `shutdown` are refused; an unknown request is answered as such,
 *     an unknown notification is passed over.
 * L5. An analysis that fails is reported to the editor and the server stays: the next edit may repair it.
 */
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe } from '@heddle/core/lowlevel'
import type { Finding } from '../finding.ts'
import { actionsFor, rangeOf, toDiagnostic, uriOf } from './diagnostics.ts'
import type { CodeAction, Range } from './diagnostics.ts'

/** The result of an analysis. */
export interface ServerResult {
  /** Absolute: the files of findings are relative to it. */
  readonly root: string
  readonly findings: readonly Finding[]
  /** A line of a file, from 1; empty when there is none. */
  lineOf(file: string, line: number): string
}

export interface LanguageServerOptions {
  readonly version: string
  /**
   * Analyses the project.
   *
   * @param overlays Texts of open documents, by absolute path.
   */
  run(overlays: ReadonlyMap<string, string>, signal: AbortSignal): Promise<ServerResult>
  send(message: object): void
}

type State = 'created' | 'ready' | 'ended' | 'gone'
type Params = Readonly<Record<string, unknown>>

/** Codes of the protocol. */
const refusals = { notReady: -32002, invalid: -32600, unknown: -32601 } as const

export class LanguageServer {
  readonly #options: LanguageServerOptions
  readonly #open = new Map<string, string>()
  readonly #ending = new AbortController()
  /** The diagnostics that were sent last, by URI, as text. */
  readonly #sent = new Map<string, string>()
  #state: State = 'created'
  #isDirty = false
  #running: Promise<void> | undefined
  #result: ServerResult | undefined

  constructor(options: LanguageServerOptions) {
    this.#options = options
  }

  get state(): State {
    return this.#state
  }

  /** The exit code that the protocol asks for: 0 after a `shutdown`, else 1. */
  get exitCode(): 0 | 1 {
    return this.#wasShutDown ? 0 : 1
  }
  #wasShutDown = false

  handle(message: unknown): void {
    if (typeof message !== 'object' || message === null || this.#state === 'gone') return
    const { id, method, params } = message as { id?: unknown; method?: unknown; params?: unknown }
    if (typeof method !== 'string') return
    const given = (typeof params === 'object' && params !== null ? params : {}) as Params
    if (id === undefined) this.#notice(method, given)
    else this.#answer(id, method, given)
  }

  /**
   * Until the running analysis, and the next one if there are changes, is done.
   *
   * *Cancellation*: `exit` ends the running analysis.
   */
  async waitIdle(): Promise<void> {
    while (this.#running !== undefined) await this.#running
  }

  #answer(id: unknown, method: string, params: Params): void {
    const refuse = (code: number, text: string): void =>
      this.#options.send({ jsonrpc: '2.0', id, error: { code, message: text } })
    const reply = (result: unknown): void => this.#options.send({ jsonrpc: '2.0', id, result })
    if (method === 'initialize') {
      if (this.#state !== 'created') return refuse(refusals.invalid, 'It was initialized already.')
      this.#state = 'ready'
      return reply({
        capabilities: {
          positionEncoding: 'utf-16',
          textDocumentSync: { openClose: true, change: 1, save: true },
          codeActionProvider: { codeActionKinds: ['quickfix'] },
        },
        serverInfo: { name: 'heddle analyze', version: this.#options.version },
      })
    }
    if (this.#state === 'created') return refuse(refusals.notReady, 'It is not initialized yet.')
    if (this.#state === 'ended') return refuse(refusals.invalid, 'It was shut down.')
    if (method === 'shutdown') {
      this.#state = 'ended'
      this.#wasShutDown = true
      this.#ending.abort()
      return reply(null)
    }
    if (method === 'textDocument/codeAction') return reply(this.#actionsAt(params))
    refuse(refusals.unknown, `There is no method ${method}.`)
  }

  #notice(method: string, params: Params): void {
    if (method === 'exit') {
      this.#state = 'gone'
      this.#ending.abort()
      return
    }
    if (this.#state !== 'ready') return
    switch (method) {
      case 'initialized':
      case 'textDocument/didSave':
      case 'workspace/didChangeWatchedFiles':
        this.#start()
        break
      case 'textDocument/didOpen':
        this.#setText(documentOf(params), documentOf(params)?.['text'])
        break
      case 'textDocument/didChange': {
        const { contentChanges } = params
        const last: unknown = Array.isArray(contentChanges) ? contentChanges.at(-1) : undefined
        this.#setText(documentOf(params), (last as Params | undefined)?.['text'])
        break
      }
      case 'textDocument/didClose':
        this.#setText(documentOf(params), undefined)
        break
      default:
    }
  }

  /** @param text Undefined: the file counts again. */
  #setText(document: Params | undefined, text: unknown): void {
    const file = fileOf(document)
    if (file === undefined) return
    if (typeof text === 'string') {
      if (this.#open.get(file) === text) return
      this.#open.set(file, text)
    } else if (!this.#open.delete(file)) return
    this.#start()
  }

  #start(): void {
    this.#isDirty = true
    this.#running ??= this.#work().finally(() => {
      this.#running = undefined
    })
  }

  async #work(): Promise<void> {
    const { signal } = this.#ending
    while (this.#isDirty && !signal.aborted) {
      this.#isDirty = false
      try {
        const result = await this.#options.run(new Map(this.#open), signal)
        if (signal.aborted) return
        this.#result = result
        this.#publish(result)
      } catch (error) {
        if (signal.aborted) return
        this.#send('window/logMessage', { type: 1, message: `heddle analyze: ${describe(error)}` })
      }
    }
  }

  #publish({ root, findings }: ServerResult): void {
    const byUri = new Map<string, object[]>()
    for (const uri of this.#sent.keys()) byUri.set(uri, [])
    for (const finding of findings) {
      const uri = uriOf(root, finding.file)
      const list = byUri.get(uri)
      const diagnostic = toDiagnostic(finding, root)
      if (list === undefined) byUri.set(uri, [diagnostic])
      else list.push(diagnostic)
    }
    for (const [uri, diagnostics] of byUri) {
      const text = JSON.stringify(diagnostics)
      if (this.#sent.get(uri) === text) continue
      if (diagnostics.length === 0) this.#sent.delete(uri)
      else this.#sent.set(uri, text)
      this.#send('textDocument/publishDiagnostics', { uri, diagnostics })
    }
  }

  #actionsAt(params: Params): readonly CodeAction[] {
    const file = fileOf(documentOf(params))
    const range = params['range'] as Range | undefined
    const result = this.#result
    if (file === undefined || range?.start === undefined || result === undefined) return []
    const { root } = result
    return result.findings
      .filter((finding) => path.join(root, finding.file) === file && touches(finding, range))
      .flatMap((finding) => actionsFor(finding, root, (line) => result.lineOf(finding.file, line)))
  }

  #send(method: string, params: object): void {
    this.#options.send({ jsonrpc: '2.0', method, params })
  }
}

function documentOf({ textDocument }: Params): Params | undefined {
  return typeof textDocument === 'object' && textDocument !== null
    ? (textDocument as Params)
    : undefined
}

function fileOf(document: Params | undefined): string | undefined {
  const uri = document?.['uri']
  if (typeof uri !== 'string' || !uri.startsWith('file:')) return undefined
  try {
    return fileURLToPath(uri)
  } catch {
    return undefined
  }
}

/** Compares lines: an editor asks for the position of the cursor. */
function touches({ checkSpan, actSpan, file }: Finding, { start, end }: Range): boolean {
  return [checkSpan, actSpan].some((span) => {
    const own = rangeOf(span)
    return span.file === file && own.start.line <= end.line && own.end.line >= start.line
  })
}
