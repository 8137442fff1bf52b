import { HeddleError } from '../errors.ts'
import type { Needs } from '../graph/job.ts'
import { checkCount } from '../kernel/check.ts'
import { suggest } from '../kernel/suggest.ts'
import { urgentPriority } from '../kernel/rank.ts'

/** How many permits of a kind there are. */
export interface PoolOptions {
  /** Reserved ones included. */
  readonly permits: number
  /** Kept for priority 0. None when absent; at least one must remain for everybody. */
  readonly reserved?: number | undefined
}

export interface PoolStats {
  readonly permits: number
  readonly reserved: number
  readonly available: number
  readonly availableReserved: number
}

class Pool {
  readonly name: string
  readonly permits: number
  readonly reserved: number
  freeGeneral: number
  freeReserved: number
  /** What is left for those who are looked at later in this round. */
  leftGeneral = 0
  leftReserved = 0

  constructor(name: string, options: number | PoolOptions) {
    const { permits, reserved = 0 } = typeof options === 'number' ? { permits: options } : options
    this.name = name
    this.permits = checkCount(name, permits)
    this.reserved = checkCount(`${name}.reserved`, reserved, 0)
    if (reserved >= permits) {
      throw new HeddleError('HDL_BAD_OPTION', {
        option: `${name}.reserved`,
        value: reserved,
        expected: `less than the permits, which are ${permits}`,
      })
    }
    this.freeGeneral = permits - reserved
    this.freeReserved = reserved
  }
}

interface Part {
  readonly pool: Pool
  readonly count: number
  readonly reserved: number
}

/** Permits in use. */
export type Holding = readonly Part[]

/**
 * Named permits for work that waits in a queue, not in a worker.
 *
 * The rule of `sync/semaphore.ts` (general permits first, reserved ones only for priority 0, back to
 * the pool they came from), for several kinds at once and with the waiting done elsewhere. A round
 * looks at the waiting in their order:
 *
 *  P1  Each claims its kinds in the order of declaration, slots last, until one is short. What it
 *      claimed is not for those behind it, and of the one that is short they get nothing: nobody is
 *      overtaken on what it waits for, so heavy work is not starved by light work.
 *  P2  Kinds behind the one that is short are not claimed: who waits for something scarce holds no
 *      slot (S38).
 *  P3  Lower priorities claim general permits only, so priority 0 passes them on reserved ones (S36).
 *
 * Claiming in one order is what makes P1 end: the first in line gets its first kind when anything of
 * it comes back, then the second, and nobody can take them in between.
 */
export class Pools {
  readonly #pools = new Map<string, Pool>()

  constructor(
    slots: number | PoolOptions,
    resources: Readonly<Record<string, number | PoolOptions>>,
  ) {
    for (const [name, options] of Object.entries(resources)) {
      if (name === 'slot') {
        throw new HeddleError('HDL_BAD_OPTION', {
          option: 'resources.slot',
          value: options,
          expected: 'to be given as `slots`',
        })
      }
      this.#pools.set(name, new Pool(name, options))
    }
    this.#pools.set('slot', new Pool('slot', slots))
  }

  /**
   * @throws `HDL_BAD_OPTION` for an unknown kind, `HDL_WOULD_DEADLOCK` for more permits than there
   * will ever be.
   */
  check(what: string, needs: Needs, priority: number): void {
    for (const [name, count] of Object.entries(needs as Readonly<Record<string, number>>)) {
      const pool = this.#pools.get(name)
      if (pool === undefined) throw this.#unknown(name)
      checkCount(`needs.${name}`, count, 0)
      const capacity = pool.permits - (priority === urgentPriority ? 0 : pool.reserved)
      if (count > capacity) {
        throw new HeddleError('HDL_WOULD_DEADLOCK', { what, needed: count, capacity })
      }
    }
  }

  /** Starts a round: the waiting are then offered to {@link tryTake}, best first. */
  beginRound(): void {
    for (const pool of this.#pools.values()) {
      pool.leftGeneral = pool.freeGeneral
      pool.leftReserved = pool.freeReserved
    }
  }

  /** All permits or none. Ends the round when it gives something. */
  tryTake(needs: Needs, priority: number): Holding | undefined {
    const parts: Part[] = []
    const urgent = priority === urgentPriority
    for (const pool of this.#pools.values()) {
      const count = (needs[pool.name] ?? 0) as number
      if (count === 0) continue
      const general = Math.min(count, pool.leftGeneral)
      const reserved = count - general
      if (reserved > (urgent ? pool.leftReserved : 0)) {
        pool.leftGeneral = 0
        if (urgent) pool.leftReserved = 0
        return undefined
      }
      pool.leftGeneral -= general
      pool.leftReserved -= reserved
      parts.push({ pool, count, reserved })
    }
    for (const { pool, count, reserved } of parts) {
      pool.freeGeneral -= count - reserved
      pool.freeReserved -= reserved
    }
    return parts
  }

  giveBack(holding: Holding): void {
    for (const { pool, count, reserved } of holding) {
      pool.freeGeneral += count - reserved
      pool.freeReserved += reserved
    }
  }

  stats(): Readonly<Record<string, PoolStats>> {
    const stats: Record<string, PoolStats> = {}
    for (const { name, permits, reserved, freeGeneral, freeReserved } of this.#pools.values()) {
      stats[name] = { permits, reserved, available: freeGeneral, availableReserved: freeReserved }
    }
    return stats
  }

  #unknown(name: string): HeddleError {
    const names = [...this.#pools.keys()]
    const meant = suggest(name, names)
    return new HeddleError('HDL_BAD_OPTION', {
      option: `needs.${name}`,
      value: name,
      expected: `one of ${names.join(', ')}${meant === undefined ? '' : `; did you mean ${meant}?`}`,
    })
  }
}
