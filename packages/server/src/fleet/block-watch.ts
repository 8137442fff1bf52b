/**
 * Ends the leases of who was blocked, on whichever server that happened: it reads the log of actions once a second. One short
 * query however many workers there are, and none while there are no workers.
 *
 *  B1  Leases of a user who was blocked, of its tokens and of a token that was revoked end within two seconds.
 */
import {
  Life,
  endsBefore,
  type Kernel,
  type ServiceState,
  type StopOptions,
  type Timer,
} from '@heddle/core/lowlevel'
import type { People } from '../people/people.ts'
import type { Fleet } from './fleet.ts'

export interface BlockWatchOptions {
  readonly fleet: Pick<Fleet, 'block' | 'hasWorkers'>
  readonly people: Pick<People, 'refusedSince'>
  readonly kernel: Kernel
}

const lookEvery = 1_000
/** Milliseconds that are read again: the clocks of servers differ, and a claim may have been under way. */
const overlap = 10_000

export class BlockWatch {
  readonly #options: BlockWatchOptions
  readonly #life: Life
  #timer: Timer | undefined
  /** The look under way, which stop() waits for. */
  #looking: Promise<void> = Promise.resolve()

  constructor(options: BlockWatchOptions) {
    this.#options = options
    this.#life = new Life({
      what: 'The watch over blocked users',
      clock: options.kernel.clock,
      deadline: 1_000,
      start: () => this.#lookLater(),
      stop: (enough) => this.#end(enough),
    })
  }

  start(): Promise<void> {
    return this.#life.start()
  }

  stop(options: StopOptions = {}): Promise<void> {
    return this.#life.stop(options)
  }

  stats(): { readonly state: ServiceState } {
    return { state: this.#life.state }
  }

  #lookLater(): void {
    this.#timer = this.#options.kernel.clock.setTimer(lookEvery, () => {
      this.#looking = this.#look()
    })
  }

  async #end(enough: AbortSignal): Promise<void> {
    this.#timer?.cancel()
    const { clock } = this.#options.kernel
    // A store that does not answer is left alone: what it would say comes too late.
    await endsBefore(enough, this.#looking, clock)
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    const { fleet, people, kernel } = this.#options
    if (fleet.hasWorkers) {
      // A store that is away is asked again: the calls of blocked workers are refused meanwhile.
      const refused = await people
        .refusedSince(kernel.clock.wallTime() - overlap)
        .catch(() => undefined)
      if (refused !== undefined && refused.size > 0) fleet.block(refused)
    }
    if (this.#life.isRunning) this.#lookLater()
  }
}
