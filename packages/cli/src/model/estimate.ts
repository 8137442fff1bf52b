/**
 * How long a run will still take.
 *
 * With durations of earlier runs: the rest can be no shorter than its longest chain, and no
 * shorter than all of it shared by the slots. The larger of the two is the estimate. Without them: as
 * long for each remaining node as it took for each that has ended, as long as some have not started; how long the
 * last ones still run, the average does not say. It is never shorter than the wait for a retry, or than a sleep. While
 * a node waits for something that may never happen, such as an approval, there is no estimate.
 *
 * All sums are kept up to date event by event, so that asking costs only the nodes under way. Among nodes that
 * have not started, only the one with the longest chain counts: it is the first in a list that is
 * ordered once.
 */
import type { Concurrency, Graph, RunEvent } from '@heddle/core'
import { slotsOf } from './concurrency.ts'

export interface EstimateOptions {
  /** Milliseconds that nodes took in earlier runs, by name. */
  readonly durations?: ReadonlyMap<string, number>
  /** How many nodes run at once. */
  readonly concurrency: Concurrency
}

interface Forecast {
  /** Milliseconds it is expected to take. */
  readonly own: number
  /** Itself and the longest chain after it. */
  readonly tail: number
  startedAt: number | undefined
  ended: boolean
}

/** In a large graph, this many ended nodes are enough. */
const mostNeeded = 20

const endStates = new Set(['succeeded', 'failed', 'blocked', 'skipped', 'cancelled'])

export class Estimate {
  readonly #forecasts: Map<string, Forecast> | undefined
  readonly #slots: number
  /** Started and not ended. */
  readonly #underWay = new Set<Forecast>()
  /** All of them, the longest chain first; those before `#next` have started or ended. */
  readonly #byTail: readonly Forecast[]
  #next = 0
  #left: number
  /** Nodes that have to end before their average says something. */
  readonly #enough: number
  /** Milliseconds of work in all nodes that have not ended. */
  #work = 0
  #startedAt: number | undefined
  /** Nodes that ended since the run started. */
  #ended = 0
  /** Keyed by node: when its next attempt starts; undefined for running nodes. */
  readonly #open = new Map<string, number | undefined>()

  constructor(graph: Graph, options: EstimateOptions) {
    this.#slots = slotsOf(options.concurrency)
    this.#left = graph.size
    this.#enough = Math.min(mostNeeded, Math.max(1, graph.size / 20))
    this.#forecasts = forecast(graph, options.durations ?? new Map())
    this.#byTail = [...(this.#forecasts?.values() ?? [])].sort((a, b) => b.tail - a.tail)
    for (const { own } of this.#byTail) this.#work += own
  }

  apply(event: RunEvent): void {
    if (event.type === 'start') this.#startedAt = event.at
    if (event.type === 'nodes') this.#left += event.added.length
    if (event.type !== 'node') return
    const entry = this.#forecasts?.get(event.name)
    this.#moveOpen(event)
    if (endStates.has(event.state)) {
      this.#left--
      if (this.#startedAt !== undefined) this.#ended++
      if (entry === undefined) return
      entry.ended = true
      this.#underWay.delete(entry)
      this.#work -= entry.own
    } else if (entry !== undefined && event.state === 'running') {
      entry.startedAt ??= event.at
      this.#underWay.add(entry)
    }
  }

  /**
   * Milliseconds until the end, or undefined as long as nothing is known.
   * @param suspendedUntil when the last of the suspended nodes continues; `Infinity`, which is the answer then, when that is not known.
   */
  remaining(now: number, suspendedUntil = now): number | undefined {
    if (this.#left === 0) return 0
    if (suspendedUntil === Infinity) return Infinity
    const remaining =
      this.#forecasts === undefined ? this.#fromAverage(now) : this.#fromHistory(now)
    if (remaining === undefined) return undefined
    const longest = Math.max(remaining, this.#longestRetry(now), suspendedUntil - now)
    // All remaining nodes take longer than in any earlier run.
    return longest === 0 ? undefined : longest
  }

  #moveOpen({ name, state, at, delay }: RunEvent & { type: 'node' }): void {
    if (endStates.has(state)) this.#open.delete(name)
    else if (state === 'retrying') this.#open.set(name, at + (delay ?? 0))
    else if (state === 'running') this.#open.set(name, undefined)
  }

  #longestRetry(now: number): number {
    let longest = 0
    for (const retryAt of this.#open.values()) {
      if (retryAt !== undefined) longest = Math.max(longest, retryAt - now)
    }
    return longest
  }

  #fromAverage(now: number): number | undefined {
    if (this.#startedAt === undefined || this.#ended < this.#enough) return undefined
    if (this.#open.size >= this.#left) return undefined
    return ((now - this.#startedAt) / this.#ended) * this.#left
  }

  #fromHistory(now: number): number {
    let work = this.#work
    let chain = this.#longestUnstarted()
    for (const { own, tail, startedAt } of this.#underWay) {
      const done = Math.min(own, now - startedAt!)
      work -= done
      chain = Math.max(chain, tail - done)
    }
    const slots = Math.max(1, Math.min(this.#slots, this.#left))
    return Math.max(0, chain, work / slots)
  }

  /** A node's chain is longer than that of everything after it, so whether it is ready does not matter. */
  #longestUnstarted(): number {
    const all = this.#byTail
    while (this.#next < all.length && hasStarted(all[this.#next]!)) this.#next++
    return all[this.#next]?.tail ?? 0
  }
}

function hasStarted({ startedAt, ended }: Forecast): boolean {
  return startedAt !== undefined || ended
}

/** A node that no earlier run knows is taken for an average one. Undefined when they know none of them. */
function forecast(
  graph: Graph,
  durations: ReadonlyMap<string, number>,
): Map<string, Forecast> | undefined {
  let sum = 0
  let known = 0
  for (const { name } of graph.nodes()) {
    const duration = durations.get(name)
    if (duration === undefined) continue
    sum += duration
    known++
  }
  if (known === 0) return undefined
  const average = sum / known
  const after = new Map<string, number>()
  const forecasts: [string, Forecast][] = []
  for (const { name, after: dependencies } of [...graph.nodes()].reverse()) {
    const own = durations.get(name) ?? average
    const tail = own + (after.get(name) ?? 0)
    for (const dependency of dependencies) {
      if (tail > (after.get(dependency) ?? 0)) after.set(dependency, tail)
    }
    forecasts.push([name, { own, tail, startedAt: undefined, ended: false }])
  }
  return new Map(forecasts)
}
