import assert from 'node:assert/strict'
import { test } from 'node:test'
import { analyze } from '../../src/index.ts'
import { LanguageServer } from '../../src/lsp/language-server.ts'
import type { LanguageServerOptions } from '../../src/lsp/language-server.ts'

const file = '/program/client.ts'
const uri = 'file:///program/client.ts'

const race = `export class Client {
  session: Session | undefined
  async connect() {
    if (!this.session) {
      this.session = await open()
    }
    return this.session
  }
  close() {
    this.session?.close()
    this.session = undefined
  }
}
`
const repaired = `export class Client {
  opening: Promise<Session> | undefined
  connect() {
    this.opening ??= open()
    return this.opening
  }
}
`

interface Sent {
  readonly id?: number
  readonly method?: string
  readonly params?: { uri: string; diagnostics: { code: string; relatedInformation: unknown[] }[] }
  readonly result?: unknown
  readonly error?: { code: number }
}

/** A server whose project is its open documents. */
function serve(run?: LanguageServerOptions['run']): { server: LanguageServer; sent: Sent[] } {
  const sent: Sent[] = []
  const server = new LanguageServer({
    version: '1.0.0',
    send: (message) => sent.push(message),
    run:
      run ??
      (async (overlays) => {
        const { findings } = await analyze({
          root: '/program',
          files: [...overlays.keys()],
          types: 'none',
          overlays,
        })
        const lineOf = (name: string, line: number): string =>
          overlays.get(`/program/${name}`)?.split('\n')[line - 1] ?? ''
        return {
          root: '/program',
          findings: findings.filter(({ level }) => level !== 'note'),
          lineOf,
        }
      }),
  })
  return { server, sent }
}

const published = (sent: readonly Sent[]): Sent[] =>
  sent.filter(({ method }) => method === 'textDocument/publishDiagnostics')

function open(server: LanguageServer, text: string): void {
  server.handle({ method: 'textDocument/didOpen', params: { textDocument: { uri, text } } })
}

function change(server: LanguageServer, text: string): void {
  server.handle({
    method: 'textDocument/didChange',
    params: { textDocument: { uri }, contentChanges: [{ text }] },
  })
}

function start(server: LanguageServer): void {
  server.handle({ id: 1, method: 'initialize', params: {} })
}

test('L2, L3: the open text is analysed, and the list is emptied when it is repaired', async () => {
  const { server, sent } = serve()
  start(server)
  open(server, race)
  await server.waitIdle()
  const [first] = published(sent)
  assert.equal(first?.params?.uri, uri)
  const found = first.params.diagnostics.find(({ code }) => code === 'H101')
  assert.ok(found, 'the race is shown')
  assert.ok(found.relatedInformation.length >= 4, 'with its interleaving')
  open(server, race)
  await server.waitIdle()
  assert.equal(published(sent).length, 1, 'the same list is not sent again')
  change(server, repaired)
  await server.waitIdle()
  assert.deepEqual(published(sent).at(-1)?.params?.diagnostics, [])
})

test('a code action writes the sketch of a repair above the line, or accepts the finding', async () => {
  const { server, sent } = serve()
  start(server)
  open(server, race)
  await server.waitIdle()
  const line = 4
  const range = { start: { line, character: 0 }, end: { line, character: 0 } }
  const params = { textDocument: { uri }, range, context: { diagnostics: [] } }
  server.handle({ id: 2, method: 'textDocument/codeAction', params })
  const actions = sent.find(({ id }) => id === 2)?.result as {
    title: string
    edit: { changes: Record<string, { newText: string }[]> }
  }[]
  const accept = actions.find(({ title }) => title.startsWith('Accept H101'))
  assert.match(accept!.edit.changes[uri]![0]!.newText, /^ +\/\/ heddle-ignore H101 -- /)
  assert.ok(actions.some(({ title }) => title.includes('sketch')))
  for (const { edit } of actions)
    for (const text of edit.changes[uri]!.flatMap(({ newText }) => newText.trimEnd().split('\n')))
      assert.match(text, /^\s*\/\//, 'only comments are written')
})

test('L1: changes during an analysis start one more analysis, however many they are', async () => {
  const texts: (string | undefined)[] = []
  const gates: (() => void)[] = []
  const { server } = serve(async (overlays) => {
    texts.push(overlays.get(file))
    await new Promise<void>((resolve) => gates.push(resolve))
    return { root: '/program', findings: [], lineOf: () => '' }
  })
  start(server)
  open(server, 'one')
  change(server, 'two')
  change(server, 'three')
  assert.deepEqual(texts, ['one'])
  gates[0]!()
  while (gates.length < 2) await Promise.resolve()
  gates[1]!()
  await server.waitIdle()
  assert.deepEqual(texts, ['one', 'three'])
})

test('L4: requests at the wrong time and unknown ones are refused', () => {
  const { server, sent } = serve()
  server.handle({ id: 1, method: 'shutdown' })
  start(server)
  server.handle({ id: 3, method: 'textDocument/hover', params: {} })
  server.handle({ method: '$/unknown' })
  server.handle({ id: 4, method: 'shutdown' })
  server.handle({ id: 5, method: 'textDocument/codeAction', params: {} })
  server.handle({ method: 'exit' })
  assert.deepEqual(
    sent.map(({ id, error }) => [id, error?.code]),
    [
      [1, -32002],
      [1, undefined],
      [3, -32601],
      [4, undefined],
      [5, -32600],
    ],
  )
  assert.equal(server.state, 'gone')
  assert.equal(server.exitCode, 0)
})

test('L5: an analysis that fails is reported, and the next one is shown', async () => {
  let isFailing = true
  const { server, sent } = serve(async () => {
    if (isFailing) throw new Error('no room')
    return { root: '/program', findings: [], lineOf: () => '' }
  })
  start(server)
  open(server, 'one')
  await server.waitIdle()
  assert.equal(sent.at(-1)?.method, 'window/logMessage')
  isFailing = false
  change(server, 'two')
  await server.waitIdle()
  assert.equal(sent.filter(({ method }) => method === 'window/logMessage').length, 1)
})
