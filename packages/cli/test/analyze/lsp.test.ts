import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { framed, MessageReader } from '@heddle/analyze'
import { cleanEnv, launcher } from '../support/program.ts'

interface Message {
  readonly id?: number
  readonly method?: string
  readonly params?: { readonly uri: string; readonly diagnostics: readonly { code: string }[] }
}

const race = `export class Client {
  session: Session | undefined
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

test('an editor gets the findings of the folder, and the server ends when it is asked to', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'heddle-lsp-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await writeFile(path.join(folder, 'client.ts'), race)
  const args = ['--conditions=heddle-source', launcher, 'analyze', '--lsp', '--no-types']
  const child = spawn(process.execPath, args, { cwd: folder, env: cleanEnv() })
  const closed = once(child, 'close')
  const found = Promise.withResolvers<Message>()
  const reader = new MessageReader({
    onMessage(message) {
      const { id, method } = message as Message
      if (id === 1) send({ method: 'initialized', params: {} })
      if (method === 'textDocument/publishDiagnostics') found.resolve(message as Message)
      if (id === 2) send({ method: 'exit' })
    },
    onError: (text) => found.reject(new Error(text)),
  })
  child.stdout.on('data', (chunk: Buffer) => reader.push(chunk))
  const send = (message: object): void =>
    void child.stdin.write(framed({ jsonrpc: '2.0', ...message }))
  send({ id: 1, method: 'initialize', params: {} })
  const { params } = await found.promise
  assert.match(params!.uri, /client\.ts$/)
  assert.ok(params!.diagnostics.some(({ code }) => code === 'H101'))
  send({ id: 2, method: 'shutdown' })
  const [code] = (await closed) as [number]
  assert.equal(code, 0)
})
