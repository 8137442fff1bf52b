import { checkCount, checkOptions, type OptionNames } from './check.ts'

/** How many permits there are. */
export interface PermitOptions {
  /** The permits that every priority may take. */
  readonly permits: number
  /** More of them, on top, that only priority 0 may take. None when absent. */
  readonly reserved?: number | undefined
}

/** This many permits for all servers on one store together. On a store that servers do not share: for this process. */
export interface ClusterPermitOptions {
  readonly permits: number
  readonly scope: 'cluster'
}

/** What can be taken before a start: permits, or a place in a rate. */
export interface Meter {
  /** Whether room comes with time, and not only with returned permits. */
  readonly isTimed: boolean
  /** Whether `count` can be taken now. Urgent claims may take reserved permits for the rest. */
  hasRoom(count: number, urgent: boolean): boolean
  /** Whether `count` can be taken from reserved permits alone. */
  hasReservedRoom(count: number): boolean
  /** Takes without a check. Returns how many of them are reserved ones. */
  take(count: number, urgent: boolean, onlyReserved: boolean): number
  giveBack(count: number, reserved: number): void
  /** Whether there will ever be this many. */
  canEverHave(count: number, urgent: boolean): boolean
  /** Milliseconds until there is room without anything coming back; Infinity when only that helps. */
  opensIn(count: number): number
}

/**
 * A number of permits, ordinary ones and on top of them reserved ones for priority 0.
 *
 *  P1  Never more permits out than there are, of either kind, unless the number was lowered meanwhile.
 *  P2  An urgent claim takes ordinary permits first and reserved ones for the rest; every other claim
 *      takes ordinary ones only.
 *  P3  A permit goes back to the kind it came from.
 *
 * It only counts. What waits, and in which order, is up to its owner: a semaphore, a dispatcher, a run.
 */
export class Permits implements Meter {
  readonly isTimed = false
  capacity: number
  readonly reserved: number
  // In use, not free: of infinitely many permits, used ones could not be subtracted.
  used = 0
  usedReserved = 0

  constructor(capacity: number, reserved = 0) {
    this.capacity = capacity
    this.reserved = reserved
  }

  get free(): number {
    return this.capacity - this.used
  }

  get freeReserved(): number {
    return this.reserved - this.usedReserved
  }

  hasRoom(count: number, urgent: boolean): boolean {
    const missing = count - (this.capacity - this.used)
    if (missing <= 0) return true
    // Lowered below the permits in use: the deficit cannot be made up by reserved ones.
    return urgent && Math.min(missing, count) <= this.reserved - this.usedReserved
  }

  hasReservedRoom(count: number): boolean {
    return count <= this.reserved - this.usedReserved
  }

  take(count: number, urgent: boolean, onlyReserved = false): number {
    const reserved = onlyReserved
      ? count
      : urgent && this.reserved > 0
        ? Math.min(count, Math.max(0, count - this.free))
        : 0
    this.used += count - reserved
    this.usedReserved += reserved
    return reserved
  }

  giveBack(count: number, reserved: number): void {
    this.used -= count - reserved
    this.usedReserved -= reserved
  }

  canEverHave(count: number, urgent: boolean): boolean {
    return count <= this.capacity + (urgent ? this.reserved : 0)
  }

  opensIn(): number {
    return Infinity
  }
}

const optionNames = { permits: 1, reserved: 1 } satisfies OptionNames<PermitOptions>

/** @throws `HDL_BAD_OPTION`, `HDL_UNKNOWN_OPTION`. */
export function makePermits(option: string, options: number | PermitOptions, unit = 1): Permits {
  if (typeof options === 'object') checkOptions(options, optionNames, option)
  const { permits, reserved = 0 } = typeof options === 'object' ? options : { permits: options }
  const name = typeof options === 'object' ? `${option}.permits` : option
  return new Permits(
    checkCount(name, permits, 1, true) * unit,
    checkCount(`${option}.reserved`, reserved, 0) * unit,
  )
}
