/**
 * Work that earlier versions have acknowledged: each is a run of the journal (decision 0401). A job that has not ended
 * is acknowledged in the store, then its run is ended. A process that dies in between leaves both: the work is found
 * twice, and done once.
 */
import { hostname } from 'node:os'
import { isError } from '@heddle/core'
import type { Journal, Kernel } from '@heddle/core/lowlevel'
import type { AcknowledgedWork } from './ledger.ts'

/** Work of an earlier version that has not ended. */
export interface EarlierWork {
  readonly runId: string
  readonly work: AcknowledgedWork
  /** How often a process has died while it was under way. */
  readonly crashes: number
}

/** Earlier versions have bounded queues too: more were never acknowledged at a time. */
const mostUnfinished = 100_000

export class EarlierLedger {
  readonly #journal: Journal
  readonly #kernel: Kernel

  constructor(journal: Journal, kernel: Kernel) {
    this.#journal = journal
    this.#kernel = kernel
  }

  /** Oldest first. *Cancellation*: none: it waits for the disk. */
  async unfinished(): Promise<readonly EarlierWork[]> {
    const found: EarlierWork[] = []
    const runs = await this.#journal.runs({ state: 'interrupted', limit: mostUnfinished })
    for (const { id, command } of runs) {
      if (!command.startsWith('heddle serve')) continue
      const { options } = await this.#journal.overview(id)
      if (options['service'] !== true || options['store'] === true) continue
      try {
        const work = (await this.#journal.valueOf(id, 'input')) as AcknowledgedWork
        found.push({ runId: id, work, crashes: await this.#crashesOf(id) })
      } catch (error) {
        // The process died before it was acknowledged: no caller waits for it.
        if (!isError(error, 'HDL_NO_RESULT')) throw error
      }
    }
    return found.reverse()
  }

  async #crashesOf(id: string): Promise<number> {
    // Its own start is a row too.
    let crashes = -1
    for await (const row of this.#journal.history(id)) {
      if (row.kind === 'run' && row.by !== undefined) crashes++
      if (row.kind === 'node' && row.state === 'waiting') crashes = 0
    }
    return crashes
  }

  /** The store has it now. *Cancellation*: none: it waits for the disk. */
  async end({ runId }: EarlierWork): Promise<void> {
    const at = this.#kernel.clock.wallTime()
    const by = { pid: process.pid, host: hostname(), command: 'heddle serve' }
    await using writer = await this.#journal.resumeRun(runId, by)
    const text = 'Continued as an acknowledged job of the store.'
    writer.log({ node: 'prepare', attempt: 0, at, text })
    writer.setState('cancelled', at)
  }
}
