/**
 * Two schedulers written by hand on Effect, because Effect has no dependency graph that runs. Both
 * count missing dependencies as the floor does. Tried as well, and slower: a fiber per node that
 * waits for a semaphore (110 to 150 k tasks/s on every shape).
 */
import { Cache, Deferred, Effect, Queue } from 'effect'
import { capacity } from '../suites/engine/cache-row.ts'
import { concurrency } from '../suites/engine/conditions.ts'
import type { OpenShared, PlayBounded, PlayGraph, Task } from '../suites/engine/contract.ts'
import type { Shape } from '../suites/engine/shapes.ts'
import { inSlices } from '../suites/engine/slices.ts'

interface EffectNode {
  readonly run: Effect.Effect<void>
  readonly dependents: EffectNode[]
  missing: number
}

/** 64 worker fibers take ready nodes from a queue. Structured: interrupting it ends the workers. */
export const workers: PlayGraph = async (shape, task, built) => {
  const nodes = await nodesOf(shape, task)
  built()
  await Effect.runPromise(
    Effect.gen(function* () {
      const ready = yield* Queue.unbounded<EffectNode>()
      const done = yield* Deferred.make<void>()
      let left = nodes.length
      const finish = (node: EffectNode) => {
        for (const dependent of node.dependents) {
          if (--dependent.missing === 0) Queue.offerUnsafe(ready, dependent)
        }
        return --left === 0 ? Deferred.succeed(done, undefined) : Effect.void
      }
      const worker = Queue.take(ready).pipe(
        Effect.flatMap((node) => Effect.flatMap(node.run, () => finish(node))),
        Effect.forever,
      )
      for (const node of nodes) if (node.missing === 0) Queue.offerUnsafe(ready, node)
      for (let count = 0; count < concurrency; count++) yield* Effect.forkChild(worker)
      yield* Deferred.await(done)
    }),
  )
}

/**
 * A root fiber per node, started by plain callbacks. Faster, but the fibers have no parent:
 * nothing could interrupt them, and the loop gets no turn until the end.
 */
export const runFork: PlayGraph = async (shape, task, built) => {
  const nodes = await nodesOf(shape, task)
  built()
  await new Promise<void>((resolve) => {
    const ready = nodes.filter((node) => node.missing === 0)
    let head = 0
    let running = 0
    let left = nodes.length
    const start = () => {
      while (running < concurrency && head < ready.length) {
        const node = ready[head++]!
        running++
        Effect.runFork(node.run).addObserver(() => finish(node))
      }
    }
    const finish = (node: EffectNode) => {
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

async function nodesOf({ names, after }: Shape, task: Task): Promise<EffectNode[]> {
  const byName = new Map<string, EffectNode>()
  await inSlices(names.length, (index) => {
    const name = names[index]!
    const node: EffectNode = {
      run: Effect.promise(() => task(name)),
      dependents: [],
      missing: after[index]!.length,
    }
    for (const dependency of after[index]!) byName.get(names[dependency]!)!.dependents.push(node)
    byName.set(name, node)
  })
  return [...byName.values()]
}

export const bounded: PlayBounded = (items, task) =>
  Effect.runPromise(
    Effect.forEach(items, (item) => Effect.promise(() => task(item)), {
      concurrency,
      discard: true,
    }),
  )

export const shared: OpenShared = async (load) => {
  const cache = Effect.runSync(
    Cache.make({ capacity, lookup: (key: string) => Effect.promise(() => load(key)) }),
  )
  return (key) => Effect.runPromise(Cache.get(cache, key))
}
