/** Ours in the gaps suite: what a program does through the public surface. */
import { Graph, Scheduler, job, run, type Job } from '@heddle/core'
import { Event } from '@heddle/core/lowlevel'
import { inSlices } from '../suites/engine/slices.ts'
import type { Prepare } from '../suites/gaps/gap-row.ts'
import { countBytes, makeEntries, writeLines } from './gap-jobs.ts'

/** Threads are up and have loaded their jobs before anything is timed: the warm-up round does it. */
async function runOne<I extends number | Uint8Array, O>(
  work: Job<I, O>,
  input: I,
  onLine?: () => void,
): Promise<O> {
  const graph = new Graph()
  const node = graph.add('one', work, { input: () => input })
  const result = await run(graph, {
    observer: (event) => {
      if (event.type === 'log') onLine?.()
    },
  })
  return result.of(node)
}

export const logs: Prepare = (size) => async () => {
  let lines = 0
  await runOne(writeLines, size, () => lines++)
  if (lines !== size) throw new Error(`${lines} lines of ${size} arrived`)
}

export const input: Prepare = (megabytes) => {
  const bytes = new Uint8Array(megabytes * 2 ** 20).fill(7)
  return async () => {
    const counted = await runOne(countBytes, bytes)
    if (counted !== bytes.length) throw new Error(`${counted} bytes of ${bytes.length}`)
    if (bytes.length === 0) throw new Error('the caller has lost its input')
  }
}

export const result: Prepare = (entries) => async () => {
  const list = await runOne(makeEntries, entries)
  if (list.length !== entries) throw new Error(`${list.length} entries of ${entries}`)
}

export const abort: Prepare = (size) => {
  const event = new Event()
  const controller = new AbortController()
  const waits = Array.from({ length: size }, () => event.wait({ signal: controller.signal }))
  const ended = Promise.allSettled(waits)
  return async () => {
    controller.abort()
    await ended
    if (event.stats().waiting !== 0) throw new Error('callers still wait')
  }
}

const nothing = job({ name: 'nothing' }, () => undefined)

export const describeGraph: Prepare = (size) => async () => {
  const graph = new Graph()
  await inSlices(size, (index) => {
    const after = index === 0 ? [] : [`node ${index - 1}`]
    graph.add(`node ${index}`, nothing, { after })
  })
  if (graph.size !== size) throw new Error(`${graph.size} nodes of ${size}`)
}

export const describeScheduler: Prepare = (size) => async () => {
  const scheduler = new Scheduler()
  await inSlices(size, (index) => {
    const after = index === 0 ? [] : [`node ${index - 1}`]
    scheduler.add(`node ${index}`, { after })
  })
}
