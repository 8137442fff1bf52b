/**
 * Where results are when their folder was damaged.
 *
 * The cache on disk leaves a damaged folder alone and continues in the next free name (`…-2`), empty. That is right
 * for a cache, and operators should know of it: results that were promised are computed again. The cache
 * does not say which folder it has taken; the one it holds has the file that names the holder of its lock.
 */
import { readdir, stat } from 'node:fs/promises'
import path from 'node:path'
import {
  Life,
  endsBefore,
  type Clock,
  type ServiceState,
  type StopOptions,
  type Timer,
} from '@heddle/core/lowlevel'

/** In the folder that an open cache holds. */
const lockFile = 'cache.lock.json'

/** The first choice has no number at its end. */
const laterChoice = /^heddle-cache-v\d+-[0-9a-f]+-(\d+)$/

/**
 * The folder that an open cache holds, when it is not its first choice.
 *
 * *Cancellation*: none: it waits for the disk only.
 */
export async function otherFolder(directory: string): Promise<string | undefined> {
  const numberOf = (name: string): number => Number(laterChoice.exec(name)?.[1] ?? 0)
  const later = (await readdir(directory))
    .filter((name) => laterChoice.test(name))
    .toSorted((a, b) => numberOf(b) - numberOf(a))
  for (const name of later) {
    const folder = path.join(directory, name)
    const holder = await stat(path.join(folder, lockFile)).catch(() => undefined)
    if (holder !== undefined) return folder
  }
  return undefined
}

/** The folder that an open cache holds. *Cancellation*: none: it waits for the disk only. */
export async function heldFolder(directory: string): Promise<string | undefined> {
  for (const name of await readdir(directory)) {
    const folder = path.join(directory, name)
    if (await exists(path.join(folder, lockFile))) return folder
  }
  return undefined
}

/** Milliseconds between checks. */
const lookEvery = 5_000

/**
 * Whether the folder of the results is there. Files that were deleted can still be written by a process that has them
 * open, so writing does not show it.
 *
 *   there ── its lock file cannot be found ─▶ gone (for good: later writes are lost)
 */
export class FolderWatch {
  readonly #lock: string
  readonly #clock: Clock
  readonly #onGone: () => void
  readonly #life: Life
  #timer: Timer | undefined
  /** The look under way, which stop() waits for. */
  #looking: Promise<unknown> = Promise.resolve()
  #isGone = false

  constructor(folder: string, clock: Clock, onGone: () => void) {
    this.#lock = path.join(folder, lockFile)
    this.#clock = clock
    this.#onGone = onGone
    this.#life = new Life({
      what: 'The watch over the folder of the results',
      clock,
      deadline: 1_000,
      start: () => this.#lookLater(),
      stop: (enough) => this.#end(enough),
    })
  }

  get isGone(): boolean {
    return this.#isGone
  }

  start(): Promise<void> {
    return this.#life.start()
  }

  stop(options: StopOptions = {}): Promise<void> {
    return this.#life.stop(options)
  }

  stats(): { readonly state: ServiceState; readonly isGone: boolean } {
    return { state: this.#life.state, isGone: this.#isGone }
  }

  #lookLater(): void {
    if (this.#isGone) return
    this.#timer = this.#clock.setTimer(lookEvery, () => {
      this.#looking = this.#lookAgain()
    })
    this.#timer.unref?.()
  }

  async #lookAgain(): Promise<void> {
    await this.look()
    if (this.#life.isRunning) this.#lookLater()
  }

  async #end(enough: AbortSignal): Promise<void> {
    this.#timer?.cancel()
    // A disk that does not answer is left alone.
    await endsBefore(enough, this.#looking, this.#clock)
  }

  /** Resolves with whether it is gone. *Cancellation*: none: it waits for the disk only. */
  async look(): Promise<boolean> {
    if (this.#isGone || (await exists(this.#lock))) return this.#isGone
    if (!this.#isGone) this.#onGone()
    this.#isGone = true
    return true
  }
}

/** A disk that does not answer says nothing about a file. */
async function exists(file: string): Promise<boolean> {
  try {
    await stat(file)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT'
  }
}
