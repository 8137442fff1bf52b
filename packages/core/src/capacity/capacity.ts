import { availableParallelism } from 'node:os'
import { checkDuration, checkOptions, type OptionNames } from '../kernel/check.ts'
import { kernelOf, type Kernel } from '../kernel/kernel.ts'
import { Permits, makePermits, type PermitOptions } from '../kernel/permits.ts'
import type { PlaceName } from '../graph/job.ts'
import type { LimitedResource } from './cluster-limits.ts'
import { ClusterPermits } from './cluster-permits.ts'
import { placeNames, readResources, type Resources } from './resources.ts'
import { KeyedResource, SharedResource } from './shared-resource.ts'

/*
 * The permits of one process: loop, threads, named resources, rates, limits for each key.
 *
 *     Capacity (one for each process)
 *       ├── Lanes of a run          its own `concurrency` and `resources`, counted in both
 *       ├── Lanes of another run
 *       └── Lanes of a stage of the server
 *
 * An attempt starts only when its run and the process have room for all it needs; it takes all of it at once
 * or nothing. Waiting entries stay in the lanes of their run (lanes.ts) and hold nothing. A run that lacks
 * permits of the process waits for it in the line of that resource (shared-resource.ts), as one waiter,
 * however many nodes it has.
 *
 * Invariants, quoted by the tests:
 *  K1  The permits in use never exceed what there is, neither in the run nor in the process, unless a limit
 *      was lowered meanwhile.
 *  K2  In no interval of `per` milliseconds more than `limit` attempts start, over all runs.
 *  K3  No lost wake-up: when an entry could start, its owner has been called, or is about to call pick().
 *  K4  What waits holds nothing, and delays only entries that rank behind it and need what it lacks.
 *  K5  The cost of a start does not grow with the number of keys, lanes or waiting entries (log n).
 *  K6  Limits hold for this process; two processes have twice as much. Those with `scope: 'cluster'` hold for all
 *      servers on one store (cluster-limits.ts).
 */

/** A short job takes a fraction of a thread: a thread has this many parts. */
export const threadUnit = 4096

export interface CapacityOptions {
  /** Attempts on the loop at a time. No limit when absent. */
  readonly loop?: number | PermitOptions | undefined
  /** Attempts in threads at a time. As many as the machine runs at a time when absent. */
  readonly thread?: number | PermitOptions | undefined
  /** Attempts on other machines at a time. No limit when absent. */
  readonly fleet?: number | PermitOptions | undefined
  /** Named resources that jobs may need in addition. */
  readonly resources?: Resources | undefined
  /** Milliseconds of waiting that raise a run by one priority. 30,000 when absent. */
  readonly aging?: number | undefined
  readonly kernel?: Kernel | undefined
}

const optionNames = {
  loop: 1,
  thread: 1,
  fleet: 1,
  resources: 1,
  aging: 1,
  kernel: 1,
} satisfies OptionNames<CapacityOptions>

export interface ResourceStats {
  readonly permits: number
  readonly reserved: number
  readonly used: number
  readonly usedReserved: number
  /** Runs and stages that wait for it. */
  readonly waiting: number
}

export class Capacity {
  readonly #places = new Map<PlaceName, SharedResource>()
  readonly #resources = new Map<string, SharedResource | KeyedResource>()

  constructor(options: CapacityOptions = {}) {
    checkOptions(options, optionNames)
    const { clock } = kernelOf(options)
    const aging = checkDuration('aging', options.aging ?? 30_000)
    for (const place of placeNames) {
      const permits = options[place] ?? (place === 'thread' ? availableParallelism() : Infinity)
      const unit = place === 'thread' ? threadUnit : 1
      const meter = makePermits(place, permits, unit)
      // A resource without a limit is not counted: no caller will ever wait for it.
      if (meter.capacity < Infinity) {
        this.#places.set(place, new SharedResource(place, meter, { clock, aging, unit }))
      }
    }
    for (const [name, kind] of readResources(options.resources ?? {}, clock)) {
      this.#resources.set(
        name,
        kind.isKeyed
          ? new KeyedResource(name, kind.each, clock, aging)
          : new SharedResource(name, kind.meter, { clock, aging }),
      )
    }
  }

  /** Undefined for a place without a limit. */
  place(name: PlaceName): SharedResource | undefined {
    return this.#places.get(name)
  }

  resource(name: string): SharedResource | KeyedResource | undefined {
    return this.#resources.get(name)
  }

  get resourceNames(): Iterable<string> {
    return this.#resources.keys()
  }

  /** Resources whose limit holds for all servers on one store. */
  clusterResources(): readonly LimitedResource[] {
    return [...this.#resources.values()].filter(
      (shared): shared is SharedResource & { readonly meter: ClusterPermits } =>
        shared instanceof SharedResource && shared.meter instanceof ClusterPermits,
    )
  }

  /** How many attempts of a place may run at a time, reserved ones included. */
  permitsOf(name: PlaceName): number {
    const shared = this.#places.get(name)
    if (shared === undefined) return Infinity
    const { capacity, reserved } = shared.meter as Permits
    return (capacity + reserved) / shared.unit
  }

  /** The resources limited by a number of permits, and their use. */
  stats(): Readonly<Record<string, ResourceStats>> {
    const stats: Record<string, ResourceStats> = {}
    for (const shared of [...this.#places.values(), ...this.#resources.values()]) {
      if (!(shared instanceof SharedResource) || !(shared.meter instanceof Permits)) continue
      const { meter, unit, waiting } = shared
      stats[shared.name] = {
        permits: meter.capacity / unit,
        reserved: meter.reserved / unit,
        used: meter.used / unit,
        usedReserved: meter.usedReserved / unit,
        waiting,
      }
    }
    return stats
  }
}

let ofProcess: Capacity | undefined

/** The permits of this process: what every run counts in that brings no other. */
export function processCapacity(): Capacity {
  return (ofProcess ??= new Capacity())
}
