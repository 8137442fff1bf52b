/** The extension for VS Code, with an editor and a server that are made here. */
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { createRequire } from 'node:module'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { crc32, inflateRawSync } from 'node:zlib'
import { LanguageServer } from '../../src/lsp/language-server.ts'
import { framed, MessageReader } from '../../src/lsp/lsp-messages.ts'
import { analyze } from '../../src/index.ts'

const require = createRequire(import.meta.url)
interface Disposable {
  dispose(): void
}
interface Extension {
  readonly open: (
    vscode: unknown,
    start: (cwd: string) => unknown,
    subscriptions: Disposable[],
  ) => void
}
const { open } = require('../../editors/vscode/extension.cjs') as Extension

const root = '/program'
const text = `export class Client {
  async connect() {
    if (!this.session) this.session = await open()
    return this.session
  }
  close() {
    this.session?.close()
    this.session = undefined
  }
}
`

const uriOf = (name: string) => ({ fsPath: name, toString: () => `file://${name}` })

/** The part of the editor's interface that the extension uses. */
function fakeEditor() {
  const lists = new Map<
    string,
    { message: string; code: string; relatedInformation: unknown[] }[]
  >()
  const shown = new EventEmitter()
  const folder = { uri: uriOf(root) }
  const nothing = (): Disposable => ({ dispose() {} })
  let provider: { provideCodeActions(document: unknown, range: unknown): Promise<unknown[]> }
  function Holder(this: object, ...given: unknown[]): void {
    Object.assign(this, { given })
  }
  class Diagnostic {
    readonly message: string
    constructor(_range: unknown, message: string) {
      this.message = message
    }
  }
  const document = {
    uri: uriOf(`${root}/client.ts`),
    languageId: 'typescript',
    version: 1,
    getText: () => text,
  }
  const vscode = {
    Range: Holder,
    Location: Holder,
    CodeAction: Holder,
    Diagnostic,
    DiagnosticRelatedInformation: Holder,
    WorkspaceEdit: class {
      replace(): void {}
    },
    CodeActionKind: { QuickFix: 'quickfix' },
    Uri: { parse: (uri: string) => uriOf(uri.slice('file://'.length)) },
    window: { createOutputChannel: () => ({ appendLine() {}, dispose() {} }) },
    commands: { registerCommand: nothing },
    languages: {
      createDiagnosticCollection: () => ({
        set(uri: ReturnType<typeof uriOf>, list: never[]) {
          lists.set(uri.toString(), list)
          shown.emit('list')
        },
        delete: (uri: ReturnType<typeof uriOf>) => lists.delete(uri.toString()),
        dispose() {},
      }),
      registerCodeActionsProvider(_languages: unknown, given: typeof provider) {
        provider = given
        return nothing()
      },
    },
    workspace: {
      workspaceFolders: [folder],
      textDocuments: [document],
      getWorkspaceFolder: () => folder,
      onDidOpenTextDocument: nothing,
      onDidCloseTextDocument: nothing,
      onDidSaveTextDocument: nothing,
      onDidChangeTextDocument: nothing,
      onDidChangeWorkspaceFolders: nothing,
    },
  }
  return {
    vscode,
    lists,
    shown,
    actions: () =>
      provider.provideCodeActions(document, {
        start: { line: 0, character: 0 },
        end: { line: 9, character: 0 },
      }),
  }
}

/** A process that is our language server. */
function startServer() {
  const child = Object.assign(new EventEmitter(), {
    stdin: new PassThrough(),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    kill() {},
  })
  const server = new LanguageServer({
    version: '0',
    send: (message) => void child.stdout.write(framed(message)),
    async run(overlays) {
      const files = [...overlays.keys()]
      const { findings } = await analyze({ root, files, overlays, types: 'none' })
      return { root, findings, lineOf: (_file, line) => text.split('\n')[line - 1] ?? '' }
    },
  })
  const reader = new MessageReader({
    onMessage(message) {
      server.handle(message)
      if (server.state === 'gone') child.emit('exit', server.exitCode)
    },
    onError: assert.fail,
  })
  child.stdin.on('data', (chunk: Buffer) => reader.push(chunk))
  return child
}

test('C2: findings of the server are shown with their steps, and its repairs are offered', async () => {
  const editor = fakeEditor()
  const subscriptions: Disposable[] = []
  const listed = new Promise<void>((resolve) => editor.shown.once('list', resolve))
  open(editor.vscode, startServer, subscriptions)
  await listed
  const [finding] = editor.lists.get(`file://${root}/client.ts`) ?? []
  assert.equal(finding?.code, 'H101')
  assert.ok(finding.relatedInformation.length > 2)
  const actions = await editor.actions()
  assert.ok(actions.length > 0)
  for (const one of subscriptions) one.dispose()
})

test('C3: after dispose nothing is shown and the server has ended', async () => {
  const editor = fakeEditor()
  const subscriptions: Disposable[] = []
  const children: EventEmitter[] = []
  const listed = new Promise<void>((resolve) => editor.shown.once('list', resolve))
  open(
    editor.vscode,
    () => {
      const child = startServer()
      children.push(child)
      return child
    },
    subscriptions,
  )
  await listed
  const ended = new Promise((resolve) => children[0]!.once('exit', resolve))
  for (const one of subscriptions) one.dispose()
  assert.equal(await ended, 0)
  assert.equal(editor.lists.size, 0)
})

test('the archive has the files of the extension, each whole, and the same bytes every time', async () => {
  const name = '../../editors/vscode/pack.mjs'
  const { packExtension } = (await import(name)) as { packExtension: () => Promise<Buffer> }
  const archive = await packExtension()
  assert.deepEqual(archive, await packExtension())
  const names: string[] = []
  let at = 0
  while (archive.readUInt32LE(at) === 0x04034b50) {
    const [sum, packed, size] = [14, 18, 22].map((offset) => archive.readUInt32LE(at + offset))
    const start = at + 30 + archive.readUInt16LE(at + 26)
    names.push(archive.toString('utf8', at + 30, start))
    const data = inflateRawSync(archive.subarray(start, start + packed!))
    assert.equal(data.length, size)
    assert.equal(crc32(data), sum)
    at = start + packed!
  }
  assert.deepEqual(names, [
    'extension.vsixmanifest',
    '[Content_Types].xml',
    'extension/package.json',
    'extension/extension.cjs',
    'extension/README.md',
  ])
  assert.equal(archive.readUInt32LE(at), 0x02014b50)
})
