/**
 * Ends the leases of blocked users and tokens, on whichever server they were blocked: it reads the log of actions once
 * a second. One short query however many workers there are, and none while there are no workers.
 *
 *  B1  Leases of a user who was blocked, of its tokens and of a token that was revoked end within two seconds.
 *  B2  No block is missed: a query goes back to the last one that was answered, and for leases that were read from the
 *      store (a restart, a take-over) to the grant of the oldest of them.
 */
import type { Kernel, ServiceState, StopOptions } from '@heddle/core/lowlevel'
import type { People } from '../people/people.ts'
import { RepeatedLook } from '../repeated-look.ts'
import type { Fleet } from './fleet.ts'

export interface BlockWatchOptions {
  readonly fleet: Pick<Fleet, 'block' | 'hasWorkers' | 'takeRestored'>
  readonly people: Pick<People, 'refusedSince'>
  readonly kernel: Kernel
}

const lookEvery = 1_000
/** Milliseconds that are read again: the clocks of servers differ, and a claim may have been under way. */
const overlap = 10_000

export class BlockWatch {
  readonly #options: BlockWatchOptions
  readonly #looks: RepeatedLook
  /** The wall time up to which everything was read. */
  #readUntil: number

  constructor(options: BlockWatchOptions) {
    this.#options = options
    this.#readUntil = options.kernel.clock.wallTime()
    this.#looks = new RepeatedLook({
      what: 'The watch over blocked users',
      clock: options.kernel.clock,
      // A store that does not answer is left alone then: its answer would come too late.
      deadline: 1_000,
      first: lookEvery,
      look: () => this.#look(),
    })
  }

  start(): Promise<void> {
    return this.#looks.start()
  }

  stop(options: StopOptions = {}): Promise<void> {
    return this.#looks.stop(options)
  }

  stats(): { readonly state: ServiceState } {
    return this.#looks.stats()
  }

  /** Never rejects. */
  async #look(): Promise<number> {
    const { fleet, people, kernel } = this.#options
    const now = kernel.clock.wallTime()
    if (!fleet.hasWorkers) {
      // A worker that comes later is checked when it connects.
      this.#readUntil = now
      return lookEvery
    }
    const restored = fleet.takeRestored()
    // The wall clock may have been set back.
    const since = Math.min(this.#readUntil, restored ?? Infinity, now)
    // A store that is away is asked again: the calls of blocked workers are refused meanwhile.
    const refused = await people.refusedSince(since - overlap).catch(() => undefined)
    if (refused === undefined) {
      this.#readUntil = since
      return lookEvery
    }
    this.#readUntil = now
    if (refused.size > 0) fleet.block(refused)
    return lookEvery
  }
}
