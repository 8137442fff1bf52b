/**
 * Paths that have changed, handed out when they have come to rest.
 *
 *   quiet ──note()──▶ settling ──`settle` ms without another, or `patience` ms in all──▶ ready
 *     ▲                                                                                   │
 *     └──────────────────────────────────── take() ───────────────────────────────────────┘
 *
 * A save is several events, a checkout is thousands: a program that reacts to each one works on half of it.
 *
 * I1. Each change is in exactly one batch, or the batch says that it has more changes than names.
 * I2. Bounded: a batch names at most `maximumNames` paths.
 */
import { Gate, systemKernel } from '@heddle/core/lowlevel'
import type { Kernel, Timer, WaitOptions } from '@heddle/core/lowlevel'

export interface ChangeBatch {
  readonly paths: ReadonlySet<string>
  /** More has changed than is named. */
  readonly isMore: boolean
}

export interface ChangesOptions {
  /** Milliseconds without another change after which a batch is ready. Default 50. */
  readonly settle?: number
  /** Milliseconds after which it is ready all the same. Default 1,000. */
  readonly patience?: number
  readonly kernel?: Kernel
}

const maximumNames = 1_000

export class Changes {
  readonly #settle: number
  readonly #patience: number
  readonly #kernel: Kernel
  readonly #ready: Gate
  #paths = new Set<string>()
  #isMore = false
  #first = 0
  #timer: Timer | undefined

  constructor({ settle = 50, patience = 1_000, kernel = systemKernel }: ChangesOptions = {}) {
    this.#settle = settle
    this.#patience = patience
    this.#kernel = kernel
    this.#ready = new Gate({ open: false, kernel, name: 'Changed files' })
  }

  note(path: string): void {
    const now = this.#kernel.clock.now()
    if (this.#paths.size === 0) this.#first = now
    if (this.#paths.size < maximumNames) this.#paths.add(path)
    else if (!this.#paths.has(path)) this.#isMore = true
    const left = this.#first + this.#patience - now
    this.#timer?.cancel()
    this.#timer = this.#kernel.clock.setTimer(Math.max(0, Math.min(this.#settle, left)), () =>
      this.#ready.open(),
    )
  }

  /**
   * Waits for the next batch.
   *
   * *Cancellation*: nothing is lost; the next caller gets the batch.
   * *Fairness*: for one reader.
   */
  async take(options: WaitOptions = {}): Promise<ChangeBatch> {
    await this.#ready.wait(options)
    this.#ready.close()
    this.#timer?.cancel()
    const batch: ChangeBatch = { paths: this.#paths, isMore: this.#isMore }
    this.#paths = new Set()
    this.#isMore = false
    return batch
  }

  close(): void {
    this.#timer?.cancel()
  }
}
