/** Heddle in the gaps suite: what a program does through the public surface. */
import { Graph, Scheduler, isError, job, run, type Job } from '@heddle/core'
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
  if (event.stats().waiting !== size) throw new Error('not all callers wait')
  const ended = refusals(waits, 'HDL_CANCELLED')
  return async () => {
    controller.abort()
    if ((await ended) !== size) throw new Error('not all waits were cancelled')
  }
}

/** All have the same deadline, in this round: they are made in slices, so that only their end can hold up the loop. */
export const expire: Prepare = (size) => async () => {
  const event = new Event()
  const dueAt = performance.now() + 1_000
  const waits: Promise<void>[] = []
  await inSlices(size, () => {
    waits.push(event.wait({ deadline: dueAt - performance.now() }))
  })
  if ((await refusals(waits, 'HDL_TIMEOUT')) !== size) throw new Error('not all deadlines passed')
}

async function refusals(waits: readonly Promise<void>[], code: string): Promise<number> {
  const ends = await Promise.allSettled(waits)
  return ends.filter(({ status, reason }: PromiseSettledResult<void> & { reason?: unknown }) => {
    return status === 'rejected' && isError(reason, code as 'HDL_TIMEOUT')
  }).length
}

/** Short runs one after the other, each of two empty nodes. */
export const shortRuns: Prepare = (size) => async () => {
  for (let index = 0; index < size; index++) {
    const graph = new Graph()
    const first = graph.add('first', nothing)
    graph.add('second', nothing, { after: [first] })
    const ended = await run(graph)
    if (!ended.ok) throw new Error('a run failed')
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
  const { nodes } = scheduler.stats()
  if (nodes !== size) throw new Error(`${nodes} nodes of ${size}`)
}
