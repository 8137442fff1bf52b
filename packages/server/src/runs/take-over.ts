/**
 * Continues runs of servers that are gone: at the start, and where several servers share a store also while this one
 * lives.
 *
 *   left (its lease has run out) ──look──▶ continued here ──▶ ended
 *                                   │          └── its end could not be written ──▶ left, after a pause that grows
 *                                   └──▶ continued by another server, or left alone: its graph is not here
 *
 *  U1  A run is continued by the first server that takes it: the journal raises its epoch, and the others find it
 *      locked.
 *  U2  After a time without an answer of the store, and at the start, nothing is taken from a shared store: leases of
 *      servers that live may have run out while it was away. They have time for two renewals first.
 *  U3  A run that cannot be continued here is logged once, and left to other servers.
 *  U4  A run that was continued here and is left again waits longer each time: its jobs run once more with each try.
 *  U5  The question whether an interrupted run is under way gets yes as long as a check may still continue it. Without
 *      a shared store only the look at the start continues runs.
 */
import { isError } from '@heddle/core'
import type { Journal, Kernel } from '@heddle/core/lowlevel'
import type { Ticked } from '../schedules/ticker.ts'
import type { OwnRuns } from './own-runs.ts'

export interface RunTakeOverOptions {
  readonly journal: Pick<Journal, 'list' | 'leftRuns'>
  readonly own: Pick<OwnRuns, 'has' | 'continue'>
  readonly kernel: Kernel
  readonly log: (level: 'info' | 'warning', text: string) => void
}

/** Milliseconds between two answers of the store: the half of a lease (C1). */
const longestGap = 3_000

/** Milliseconds: two renewals of a lease, and time to connect again. */
const settledAfter = 5_000

/** Milliseconds before a run that is left again is tried again. */
const firstPause = 1_000
const longestPause = 60_000

/** Milliseconds after which a run that was not seen any more is forgotten. */
const forgetAfter = 600_000

/** A run that was met before. */
interface Met {
  /** On the clock of this process; Infinity: it is left alone. */
  readonly notBefore: number
  readonly tries: number
  seenAt: number
}

export class RunTakeOver implements Ticked {
  readonly #options: RunTakeOverOptions
  readonly #met = new Map<string, Met>()
  /** When the store has answered last. */
  #answeredAt: number | undefined
  /** From here on its answers are trusted. */
  #settledAt = 0

  constructor(options: RunTakeOverOptions) {
    this.#options = options
  }

  /** U5. */
  mayContinue(run: string): boolean {
    if (this.#answeredAt === undefined) return true
    const isShared = this.#options.journal.leftRuns !== undefined
    return isShared && this.#met.get(run)?.notBefore !== Infinity
  }

  /** *Cancellation*: the signal: between two runs. */
  async look(_now: number, signal: AbortSignal): Promise<undefined> {
    const { clock, random } = this.#options.kernel
    const before = this.#answeredAt ?? -Infinity
    const left = await this.#left()
    const now = (this.#answeredAt = clock.now())
    const isShared = this.#options.journal.leftRuns !== undefined
    // U2
    if (isShared && now - before > longestGap) this.#settledAt = now + settledAfter
    this.#forget(left, now)
    if (now < this.#settledAt) return undefined
    // Servers that check at the same moment begin at different runs.
    const first = Math.floor(random.next() * left.length)
    for (const id of [...left.slice(first), ...left.slice(0, first)]) {
      if (signal.aborted) return undefined
      const met = this.#met.get(id)
      if (this.#options.own.has(id) || clock.now() < (met?.notBefore ?? 0)) continue
      if (!(await this.#continue(id, met?.tries ?? 0))) break
    }
    return undefined
  }

  /** False when nothing more can be continued for now. */
  async #continue(id: string, tries: number): Promise<boolean> {
    const { own, log, kernel } = this.#options
    const meet = (pause: number): void => {
      const seenAt = kernel.clock.now()
      this.#met.set(id, { notBefore: seenAt + pause, tries: tries + 1, seenAt })
    }
    try {
      const graph = await own.continue(id)
      meet(graph === undefined ? Infinity : Math.min(firstPause * 2 ** tries, longestPause))
      if (graph !== undefined) log('info', `Resumed run ${id} of graph "${graph}".`)
    } catch (error) {
      if (isError(error, 'HDL_DRAINING') || isError(error, 'HDL_OVERLOADED')) return false
      // U1
      if (isError(error, 'HDL_LOCKED')) return true
      if (tries === 0) log('warning', `Run ${id} could not be resumed: ${String(error)}`)
      const mayPass = isError(error, 'HDL_STORE_FAILED')
      meet(mayPass ? Math.min(firstPause * 2 ** tries, longestPause) : Infinity)
    }
    return true
  }

  async #left(): Promise<readonly string[]> {
    const { journal } = this.#options
    if (journal.leftRuns !== undefined) return journal.leftRuns()
    const found: string[] = []
    let before: number | undefined
    do {
      const page = await journal.list({
        outcomes: ['interrupted'],
        limit: 100,
        ...(before !== undefined && { before }),
      })
      found.push(...page.runs.map(({ id }) => id))
      before = page.next
    } while (before !== undefined)
    return found
  }

  #forget(left: readonly string[], now: number): void {
    for (const id of left) {
      const met = this.#met.get(id)
      if (met !== undefined) met.seenAt = now
    }
    for (const [id, { seenAt }] of this.#met) {
      if (now - seenAt > forgetAfter) this.#met.delete(id)
    }
  }
}
