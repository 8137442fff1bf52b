/** Heddle in the graph and bounded rows: a `Scheduler` with its features on. */
import { Scheduler, type Observer } from '@heddle/core'
import { concurrency } from '../suites/engine/conditions.ts'
import type { PlayBounded, PlayGraph, Task } from '../suites/engine/contract.ts'
import type { Shape } from '../suites/engine/shapes.ts'
import { inSlices } from '../suites/engine/slices.ts'

/** Reads every event, as a progress display would. */
class Counter {
  readonly #counts = new Map<string, number>()

  readonly observe: Observer = (event) => {
    if (event.type !== 'node') return
    this.#counts.set(event.state, (this.#counts.get(event.state) ?? 0) + 1)
  }

  check(state: string, expected: number): void {
    const seen = this.#counts.get(state)
    if (seen !== expected) throw new Error(`the observer saw ${seen} of ${expected} ${state}`)
  }
}

/** The options of our own row: two retries, the ten-minute timeout and an observer of every event. */
export const observed: PlayGraph = async (shape, task, built) => {
  const counter = new Counter()
  const scheduler = new Scheduler({ concurrency, retries: 2, observer: counter.observe })
  await play(scheduler, shape, task, built)
  counter.check('succeeded', shape.names.length)
}

/** The same without the observer. Everything else is always on. */
export const plain: PlayGraph = (shape, task, built) =>
  play(new Scheduler({ concurrency, retries: 2 }), shape, task, built)

async function play(
  scheduler: Scheduler,
  { names, after }: Shape,
  task: Task,
  built: () => void,
): Promise<void> {
  await inSlices(names.length, (index) => {
    scheduler.add(names[index]!, { after: after[index]!.map((dependency) => names[dependency]!) })
  })
  built()
  const result = await scheduler.run((name) => task(name))
  if (!result.ok) throw new Error('the run is not ok')
}

/** Fed while it runs, so that work starts with the first item. */
export const bounded: PlayBounded = async (items, task) => {
  const counter = new Counter()
  const scheduler = new Scheduler({
    concurrency,
    retries: 2,
    keepOpen: true,
    observer: counter.observe,
  })
  const running = scheduler.run((name) => task(Number(name)))
  await inSlices(items.length, (index) => {
    scheduler.add(String(items[index]))
  })
  scheduler.close()
  const result = await running
  if (!result.ok) throw new Error('the run is not ok')
  counter.check('succeeded', items.length)
}
