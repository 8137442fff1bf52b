/**
 * The floor: the least that can start an async task when its dependencies have ended.
 *
 * Node objects with a counter, a ready list, a bound on the number of running tasks. No states, no
 * errors, no observers, no time, no cancel, and it never yields to the loop while it runs. Ours is
 * measured against it to see what the features cost.
 */
import { concurrency } from './conditions.ts'
import type { PlayBounded, PlayGraph, Task } from './contract.ts'
import { inSlices } from './slices.ts'

interface FloorNode {
  readonly name: string
  readonly dependents: FloorNode[]
  missing: number
}

export const graph: PlayGraph = async ({ names, after }, task, built) => {
  const byName = new Map<string, FloorNode>()
  await inSlices(names.length, (index) => {
    const node: FloorNode = { name: names[index]!, dependents: [], missing: after[index]!.length }
    for (const dependency of after[index]!) byName.get(names[dependency]!)!.dependents.push(node)
    byName.set(node.name, node)
  })
  built()
  await runAll([...byName.values()], task)
}

function runAll(nodes: readonly FloorNode[], task: Task): Promise<void> {
  return new Promise((resolve) => {
    const ready = nodes.filter((node) => node.missing === 0)
    let head = 0
    let running = 0
    let left = nodes.length

    const start = () => {
      while (running < concurrency && head < ready.length) {
        const node = ready[head++]!
        running++
        void task(node.name).then(() => finish(node))
      }
    }
    const finish = (node: FloorNode) => {
      running--
      for (const dependent of node.dependents) {
        if (--dependent.missing === 0) ready.push(dependent)
      }
      if (--left === 0) resolve()
      else start()
    }
    start()
  })
}

/** Starts as many loops as may run at once, all taking from one iterator. */
export const bounded: PlayBounded = async (items, task) => {
  const source = items[Symbol.iterator]()
  const loop = async () => {
    for (let next = source.next(); next.done !== true; next = source.next()) await task(next.value)
  }
  await Promise.all(Array.from({ length: concurrency }, loop))
}
