/** The memory that an upload costs a server in a process of its own. */
import assert from 'node:assert/strict'
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { hold } from './kit.ts'
import { Large, megabyte } from './large.ts'

const script = fileURLToPath(new URL('./fixtures/serve.ts', import.meta.url))

interface Memory {
  readonly rss: number
  readonly buffers: number
}

/** The peaks since the last call. */
async function memoryOf(child: ChildProcess): Promise<Memory> {
  const answered = once(child, 'message') as Promise<[Memory]>
  child.send('memory')
  return (await answered)[0]
}

test('S121: an upload of 500 MB takes less than 50 MB of a server that may have 200 MB of heap', async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'heddle-memory-'))
  const child = fork(script, [`sqlite:${path.join(folder, 'store.db')}`], {
    execArgv: [
      '--conditions=heddle-source',
      '--disable-warning=ExperimentalWarning',
      '--max-old-space-size=200',
    ],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  try {
    const [server] = (await once(child, 'message')) as [{ url: string }]
    const held = await hold(server)
    // The code that it needs is loaded and compiled.
    assert.equal(await new Large(30).put(server, held, 'first'), 201)
    await memoryOf(child)
    const before = await memoryOf(child)
    assert.equal(await new Large(500).put(server, held, 'large'), 201)
    const most = await memoryOf(child)
    const grown = {
      buffers: (most.buffers - before.buffers) / megabyte,
      rss: (most.rss - before.rss) / megabyte,
    }
    assert.ok(grown.buffers < 50 && grown.rss < 50, JSON.stringify(grown))
  } finally {
    const ended = once(child, 'exit')
    child.disconnect()
    await ended
    await rm(folder, { recursive: true, force: true })
  }
})
