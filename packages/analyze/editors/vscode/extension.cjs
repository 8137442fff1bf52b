/**
 * The language server `heddle analyze --lsp` in VS Code, without a dependency.
 *
 * C1. One server for each folder of the workspace. One that has ended is not started again by itself: the
 *     command `heddle.restart` does.
 * C2. What a server has sent is shown until it sends a new list, or ends.
 * C3. After `dispose` nothing is shown and no process is left.
 */
'use strict'
const { spawn } = require('node:child_process')

const languages = ['typescript', 'typescriptreact', 'javascript', 'javascriptreact']
/** After this the server is ended by a signal. */
const graceMs = 2_000

class Client {
  #vscode
  #folder
  #child
  #diagnostics
  #log
  #buffer = Buffer.alloc(0)
  #nextId = 1
  #waiting = new Map()
  #shown = new Set()
  #isEnded = false
  #subscriptions = []

  constructor(vscode, folder, { start, diagnostics, log }) {
    this.#vscode = vscode
    this.#folder = folder
    this.#diagnostics = diagnostics
    this.#log = log
    this.#child = start(folder.uri.fsPath)
    this.#child.on('error', (error) => this.#end(`It cannot be started: ${error.message}`))
    this.#child.on('exit', (code) => this.#end(`It has ended with ${code}.`))
    this.#child.stdout.on('data', (chunk) => this.#read(chunk))
    this.#child.stderr.on('data', (chunk) => log(String(chunk).trimEnd()))
    this.#child.stdin.on('error', () => {})
    void this.#open()
  }

  async #open() {
    await this.#request('initialize', {
      processId: process.pid,
      rootUri: this.#folder.uri.toString(),
      capabilities: {},
    })
    if (this.#isEnded) return
    this.#notify('initialized', {})
    const { workspace } = this.#vscode
    const isOurs = (document) =>
      languages.includes(document.languageId) &&
      workspace.getWorkspaceFolder(document.uri)?.uri.toString() === this.#folder.uri.toString()
    const send = (method, document, more) => {
      if (isOurs(document))
        this.#notify(`textDocument/${method}`, {
          textDocument: { uri: document.uri.toString(), version: document.version, ...more },
        })
    }
    const opened = (document) =>
      send('didOpen', document, { languageId: document.languageId, text: document.getText() })
    this.#subscriptions.push(
      workspace.onDidOpenTextDocument(opened),
      workspace.onDidCloseTextDocument((document) => send('didClose', document)),
      workspace.onDidSaveTextDocument((document) => send('didSave', document)),
      workspace.onDidChangeTextDocument(({ document }) => {
        if (isOurs(document))
          this.#notify('textDocument/didChange', {
            textDocument: { uri: document.uri.toString(), version: document.version },
            contentChanges: [{ text: document.getText() }],
          })
      }),
    )
    for (const document of workspace.textDocuments) opened(document)
  }

  /** Whether a document belongs to this server. */
  has(uri) {
    return (
      this.#vscode.workspace.getWorkspaceFolder(uri)?.uri.toString() === this.#folder.uri.toString()
    )
  }

  async actionsAt(document, range) {
    if (this.#isEnded) return []
    const actions = await this.#request('textDocument/codeAction', {
      textDocument: { uri: document.uri.toString() },
      range: { start: plain(range.start), end: plain(range.end) },
      context: { diagnostics: [] },
    })
    return (actions ?? []).map((action) => this.#toAction(action))
  }

  #toAction({ title, edit }) {
    const { CodeAction, CodeActionKind, Uri, WorkspaceEdit } = this.#vscode
    const action = new CodeAction(title, CodeActionKind.QuickFix)
    if (edit === undefined) return action
    action.edit = new WorkspaceEdit()
    for (const [uri, changes] of Object.entries(edit.changes ?? {}))
      for (const { range, newText } of changes)
        action.edit.replace(Uri.parse(uri), this.#rangeOf(range), newText)
    return action
  }

  #rangeOf({ start, end }) {
    return new this.#vscode.Range(start.line, start.character, end.line, end.character)
  }

  #show({ uri, diagnostics }) {
    const { Diagnostic, DiagnosticRelatedInformation, Location, Uri } = this.#vscode
    const target = Uri.parse(uri)
    this.#shown.add(target)
    this.#diagnostics.set(
      target,
      diagnostics.map((one) => {
        // The protocol counts levels from 1, the editor from 0.
        const made = new Diagnostic(this.#rangeOf(one.range), one.message, (one.severity ?? 2) - 1)
        made.code = one.code
        made.source = one.source
        made.relatedInformation = (one.relatedInformation ?? []).map(
          ({ location, message }) =>
            new DiagnosticRelatedInformation(
              new Location(Uri.parse(location.uri), this.#rangeOf(location.range)),
              message,
            ),
        )
        return made
      }),
    )
  }

  #read(chunk) {
    this.#buffer = Buffer.concat([this.#buffer, chunk])
    for (;;) {
      const end = this.#buffer.indexOf('\r\n\r\n')
      if (end === -1) return
      const length = Number(
        /content-length:\s*(\d+)/i.exec(this.#buffer.toString('latin1', 0, end))?.[1],
      )
      if (!(length >= 0)) return this.#end('It has sent a message without a length.')
      if (this.#buffer.length < end + 4 + length) return
      const body = this.#buffer.toString('utf8', end + 4, end + 4 + length)
      this.#buffer = this.#buffer.subarray(end + 4 + length)
      this.#receive(JSON.parse(body))
    }
  }

  #receive({ id, method, params, result }) {
    if (this.#isEnded) return
    if (method === 'textDocument/publishDiagnostics') this.#show(params)
    else if (method === 'window/showMessage' || method === 'window/logMessage')
      this.#log(params.message)
    else if (method === undefined) {
      this.#waiting.get(id)?.(result)
      this.#waiting.delete(id)
    }
  }

  #request(method, params) {
    const id = this.#nextId++
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve)
      this.#write({ jsonrpc: '2.0', id, method, params })
    })
  }

  #notify(method, params) {
    this.#write({ jsonrpc: '2.0', method, params })
  }

  #write(message) {
    if (this.#isEnded) return
    const body = Buffer.from(JSON.stringify(message))
    this.#child.stdin.write(`Content-Length: ${body.length}\r\n\r\n`)
    this.#child.stdin.write(body)
  }

  #end(reason) {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#log(reason)
    for (const one of this.#subscriptions) one.dispose()
    for (const uri of this.#shown) this.#diagnostics.delete(uri)
    for (const resolve of this.#waiting.values()) resolve(undefined)
    this.#waiting.clear()
  }

  dispose() {
    if (this.#isEnded) return
    void this.#request('shutdown', null)
    this.#notify('exit', null)
    this.#end('It was stopped.')
    this.#child.stdin.end()
    const late = AbortSignal.timeout(graceMs)
    const kill = () => this.#child.kill()
    late.addEventListener('abort', kill)
    this.#child.once('exit', () => late.removeEventListener('abort', kill))
  }
}

const plain = ({ line, character }) => ({ line, character })

/** @param start Starts the server in a folder. */
function open(vscode, start, subscriptions) {
  const output = vscode.window.createOutputChannel('Heddle analyze')
  const diagnostics = vscode.languages.createDiagnosticCollection('heddle')
  let clients = []
  const startAll = () => {
    for (const one of clients) one.dispose()
    clients = (vscode.workspace.workspaceFolders ?? []).map(
      (folder) =>
        new Client(vscode, folder, { start, diagnostics, log: (text) => output.appendLine(text) }),
    )
  }
  startAll()
  subscriptions.push(
    output,
    diagnostics,
    vscode.commands.registerCommand('heddle.restart', startAll),
    vscode.workspace.onDidChangeWorkspaceFolders(startAll),
    vscode.languages.registerCodeActionsProvider(languages, {
      provideCodeActions: (document, range) =>
        clients.find((one) => one.has(document.uri))?.actionsAt(document, range),
    }),
    {
      dispose() {
        for (const one of clients) one.dispose()
      },
    },
  )
}

function activate(context) {
  const vscode = require('vscode')
  const start = (cwd) => {
    const [command, ...rest] = vscode.workspace.getConfiguration('heddle').get('command')
    return spawn(command, rest, { cwd, stdio: 'pipe', shell: process.platform === 'win32' })
  }
  open(vscode, start, context.subscriptions)
}

module.exports = { activate, open }
