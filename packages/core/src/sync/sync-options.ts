import { checkCount, checkOptions, checkText, type OptionNames } from '../kernel/check.ts'
import { kernelOf, type Kernel } from '../kernel/kernel.ts'
import { mostWaiters } from '../kernel/waiters.ts'

/** Accepted by the constructor of every primitive. */
export interface SyncOptions {
  /** Named in errors: `Mutex "db" timed out after 50 ms`. */
  readonly name?: string | undefined
  /**
   * How many callers may wait at a time; one more is refused with `HDL_TOO_MANY_WAITERS`.
   * Default 1,000,000: a leak is reported before memory runs out. Servers set less.
   */
  readonly maxWaiters?: number | undefined
  /** Time and randomness. Real ones when absent. */
  readonly kernel?: Kernel | undefined
}

/** The options with defaults filled in, and the primitive's name as errors print it. */
export interface Basics {
  readonly what: string
  readonly kernel: Kernel
  readonly maxWaiters: number
}

/** Names of the options that every primitive accepts. */
export const syncOptionNames = {
  name: 1,
  maxWaiters: 1,
  kernel: 1,
} satisfies OptionNames<SyncOptions>

export function basics<O extends SyncOptions>(
  kind: string,
  options: O,
  known: OptionNames<O>,
): Basics {
  checkOptions(options, known)
  return {
    what: options.name === undefined ? kind : `${kind} "${checkText('name', options.name)}"`,
    kernel: kernelOf(options),
    maxWaiters: checkCount('maxWaiters', options.maxWaiters ?? mostWaiters, 0, true),
  }
}
