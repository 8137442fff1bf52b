/** Kills its own process at a chosen moment of a run, as the power supply would: without a word. */
import type { Journal, RunWriter } from '@heddle/core/lowlevel'

/** The moments between which a crash can fall. */
export const moments = [
  /** The journal is being opened: made, migrated, recovered. */
  'opening',
  /** A row is about to be added, or was just added. */
  'before append',
  'after append',
  /** A node is done; its success is not yet added, is in flight, is durable, was reported. */
  'before commit',
  'handed over',
  'on its way',
  'durable',
  'acknowledged',
  /** The run is over; the journal is being closed. */
  'closing',
] as const
export type Moment = (typeof moments)[number]

export interface TrapPlan {
  readonly moment: Moment
  /** The how manieth of these moments. */
  readonly count: number
  /** Milliseconds for which the threads of the journal continue before the kill. */
  readonly delay: number
}

export class Trap {
  readonly #plan: TrapPlan | undefined
  #left: number

  constructor(plan: TrapPlan | undefined) {
    this.#plan = plan
    this.#left = plan?.count ?? 0
  }

  hit(moment: Moment): void {
    if (this.#plan?.moment !== moment || --this.#left !== 0) return
    // The loop stands still, so nothing else of this thread comes in between.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, this.#plan.delay)
    process.kill(process.pid, 'SIGKILL')
  }

  /** Springs while something is under way that cannot be stopped on the loop. */
  during(moment: Moment): void {
    if (this.#plan?.moment === moment) setTimeout(() => this.hit(moment), this.#plan.delay)
  }

  set(journal: Journal): Journal {
    const openRun = journal.openRun.bind(journal)
    const resumeRun = journal.resumeRun.bind(journal)
    const stop = journal.stop.bind(journal)
    journal.openRun = async (header) => this.#arm(await openRun(header))
    journal.resumeRun = async (id, by) => this.#arm(await resumeRun(id, by))
    journal.stop = (options) => {
      const closed = stop(options)
      this.during('closing')
      return closed
    }
    return journal
  }

  #arm(writer: RunWriter): RunWriter {
    const append = writer.append.bind(writer)
    const commit = writer.commit.bind(writer)
    writer.append = (transition) => {
      this.hit('before append')
      append(transition)
      this.hit('after append')
    }
    writer.commit = async (transition, value) => {
      this.hit('before commit')
      const durable = commit(transition, value)
      this.hit('handed over')
      // By then, the rows of this turn have been sent to the thread that writes them.
      setImmediate(() => this.hit('on its way'))
      await durable
      this.hit('durable')
    }
    return writer
  }
}
