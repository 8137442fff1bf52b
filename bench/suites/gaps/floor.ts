/** The work of the rows with nothing but Node. */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Prepare } from './gap-row.ts'
import { inSlices } from '../engine/slices.ts'

function startWorker(): Worker {
  const worker = new Worker(new URL('./floor-thread.ts', import.meta.url))
  worker.unref()
  return worker
}

let worker: Worker | undefined

async function ask(question: unknown): Promise<unknown> {
  worker ??= startWorker()
  const answer = once(worker, 'message')
  worker.postMessage(question)
  return ((await answer) as unknown[])[0]
}

export const input: Prepare = async (megabytes) => {
  const bytes = new Uint8Array(megabytes * 2 ** 20).fill(7)
  await ask('warm')
  return async () => {
    if ((await ask(bytes)) !== bytes.length) throw new Error('the input arrived damaged')
  }
}

export const result: Prepare = async (entries) => {
  await ask('warm')
  return async () => {
    const list = (await ask(entries)) as unknown[]
    if (list.length !== entries) throw new Error(`${list.length} entries of ${entries}`)
  }
}

export const abort: Prepare = (size) => {
  const waits = Array.from({ length: size }, () => Promise.withResolvers<void>())
  const ended = Promise.allSettled(waits.map(({ promise }) => promise))
  return async () => {
    const reason = new Error('stopped')
    for (const { reject } of waits) reject(reason)
    await ended
  }
}

export const describe: Prepare = (size) => async () => {
  const nodes = new Map<string, { name: string; after: string[] }>()
  await inSlices(size, (index) => {
    const name = `node ${index}`
    nodes.set(name, { name, after: index === 0 ? [] : [`node ${index - 1}`] })
  })
}
