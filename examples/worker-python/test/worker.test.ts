import assert from 'node:assert/strict'
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { job } from '@heddle/core'
import { startServer, type Server } from '@heddle/server'

const script = fileURLToPath(new URL('../worker.py', import.meta.url))
const hasPython = spawnSync('python3', ['--version']).status === 0
const skip = hasPython ? false : 'python3 is not on this machine'

/** Run by the worker: the server needs to know its name and its place only. */
const square = job({ name: 'square', place: 'fleet', module: import.meta.url }, (n: number) => n)
const other = job(
  { name: 'square-2', place: 'fleet', version: '2', module: import.meta.url },
  (n: number) => n,
)

const start = (): Promise<Server> =>
  startServer({ jobs: [square, other], port: 0, limits: { loopGap: Infinity } })

class PythonWorker {
  readonly process: ChildProcess
  readonly lines: string[] = []
  readonly ended: Promise<number>
  #wanted: { word: string; seen: () => void } | undefined

  constructor(server: Server, ...args: string[]) {
    this.process = spawn('python3', [script, '--server', server.url, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    createInterface({ input: this.process.stdout! }).on('line', (line) => {
      this.lines.push(line)
      if (this.#wanted !== undefined && line.startsWith(this.#wanted.word)) this.#wanted.seen()
    })
    this.ended = once(this.process, 'close').then(([code]) => code as number)
  }

  async says(word: string): Promise<void> {
    if (this.lines.some((line) => line.startsWith(word))) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wanted = { word, seen: resolve }
    await promise
  }
}

async function post<T>(server: Server, path: string, body: unknown): Promise<T> {
  const response = await fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return (await response.json()) as T
}

test(
  'two Python workers play all units of a campaign, each is counted once',
  { skip },
  async () => {
    await using server = await start()
    const { id } = await post<{ id: string }>(server, '/campaigns', {
      name: 'match',
      job: 'play',
      units: 300,
      batch: 10,
      outcomes: ['L', 'D', 'W'],
    })
    const workers = [1, 2].map(() => new PythonWorker(server, '--exit-when-idle'))
    assert.deepEqual(await Promise.all(workers.map(({ ended }) => ended)), [0, 0])
    const campaign = (await (await fetch(`${server.url}/campaigns/${id}`)).json()) as object
    const { phase, done, total } = campaign as { phase: string; done: number; total: unknown }
    assert.deepEqual([phase, done, total], ['ended', 300, [100, 100, 100]])
    const summary = await (await fetch(`${server.url}/fleet/summary`)).json()
    const { held, workers: left } = summary as { held: number; workers: number }
    assert.deepEqual([held, left], [0, 0])
  },
)

test(
  'a Python worker waits for a job, runs it, and leaves when it is stopped',
  { skip },
  async () => {
    await using server = await start()
    const worker = new PythonWorker(server)
    await worker.says('connected')
    const done = await post<{ result: number }>(server, '/jobs/square?wait=60000', 12)
    assert.equal(done.result, 144)
    worker.process.kill('SIGTERM')
    assert.equal(await worker.ended, 0)
  },
)

test('a Python worker says why it gets nothing', { skip }, async () => {
  await using server = await start()
  await post(server, '/jobs/square-2', 12)
  const worker = new PythonWorker(server, '--exit-when-idle')
  assert.equal(await worker.ended, 0)
  assert.ok(worker.lines.some((line) => /idle: job square-2 waits/.test(line)))
})

test('a Python worker hands back a job whose input it cannot read', { skip }, async () => {
  await using server = await start()
  const worker = new PythonWorker(server)
  // Too large for an offer: it would have to be fetched, in the encoding of the journal.
  const body = JSON.stringify('x'.repeat(500_000))
  const submitted = fetch(`${server.url}/jobs/square`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  assert.equal((await submitted).status, 202)
  await worker.says('handed back')
  const { closed } = (await (await fetch(`${server.url}/fleet/summary`)).json()) as {
    closed: Record<string, number>
  }
  assert.equal(closed['failed'], undefined)
  worker.process.kill('SIGTERM')
  assert.equal(await worker.ended, 0)
})
