/**
 * The floor: the least that makes rows durable without blocking the loop.
 *
 * A thread with `node:sqlite`, one message for all rows of a turn, one transaction for all messages that
 * have arrived. One table of four columns, names and numbers as they come. No runs, results, errors,
 * sessions, lock, bounds or failures; the file is never looked at before it is used. Ours is measured
 * against it to see what those cost.
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { OpenLedger, Step } from './contract.ts'

export const ledger: OpenLedger = async (file, durability) => {
  const worker = new Worker(new URL('floor-thread.ts', import.meta.url), {
    workerData: { file, durability },
  })
  await once(worker, 'message')
  let rows: (string | number)[] = []
  let waiting: PromiseWithResolvers<void> = Promise.withResolvers()
  const sent: PromiseWithResolvers<void>[] = []
  const send = (): void => {
    worker.postMessage(rows)
    sent.push(waiting)
    rows = []
    waiting = Promise.withResolvers()
  }
  worker.on('message', (messages: number) => {
    for (const { resolve } of sent.splice(0, messages)) resolve()
  })
  const append = (node: string, step: Step): void => {
    if (rows.length === 0) process.nextTick(send)
    rows.push(node, step, Date.now())
  }
  return {
    append,
    commit(node, step) {
      append(node, step)
      return waiting.promise
    },
    [Symbol.asyncDispose]: async () => {
      await worker.terminate()
    },
  }
}
