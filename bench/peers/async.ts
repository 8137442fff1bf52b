import { auto, queue } from 'async'
import { concurrency } from '../suites/engine/conditions.ts'
import type { PlayBounded, PlayGraph } from '../suites/engine/contract.ts'

export const graph: PlayGraph = ({ names, after }, task, built) => {
  const tasks: Parameters<typeof auto>[0] = {}
  for (let index = 0; index < names.length; index++) {
    const name = names[index]!
    const dependencies = after[index]!.map((dependency) => names[dependency]!)
    // The library recognizes only functions written as async; others must call back.
    const run = async () => task(name)
    tasks[name] = dependencies.length === 0 ? run : [...dependencies, run]
  }
  built()
  return auto(tasks, concurrency)
}

/** The queue, not `eachLimit`: that is a loop without a queue, as fast as the floor of the row. */
export const bounded: PlayBounded = async (items, task) => {
  const waiting = queue(async (item: number) => task(item), concurrency)
  for (const item of items) void waiting.push(item)
  await waiting.drain()
}
