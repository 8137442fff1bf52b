import { HeddleError } from '@heddle/core'
import { type Kernel, Patience, type WaitOptions } from '@heddle/core/lowlevel'
import { classOf, mayPass } from './error-class.ts'
import { defaultBackoff, jitter } from './http/backoff.ts'

export interface Converging {
  readonly what: string
  readonly kernel: Kernel
  /** Whether the registry has the desired state. */
  readonly isDone: (wait: WaitOptions) => Promise<boolean>
  /** One try to get there. */
  readonly write: (wait: WaitOptions) => Promise<void>
  /** How often it is written, at most. Default 4. */
  readonly tries?: number
  /** Where success is answered before anything is stored: a write counts once a read finds it. */
  readonly confirmedAt?: string
  /** Write first, for a state that cannot be recognized before. */
  readonly writeFirst?: boolean
}

/**
 * Writes until a read confirms it: for small changes that two runs may make at once.
 *
 * *Cancellation*: leaves the last write as it is; the next call starts from the state of the registry.
 */
export async function converge(work: Converging, wait: WaitOptions = {}): Promise<void> {
  const { kernel, tries = 4 } = work
  const patience = new Patience(work.what, kernel.clock, wait)
  for (let attempt = 0; ; attempt++) {
    const mayBeDone = attempt > 0 || work.writeFirst !== true
    if (mayBeDone && (await work.isDone(patience.options))) return
    try {
      await work.write(patience.options)
      if (work.confirmedAt === undefined || (await isSeen(work, patience))) return
      throw notStored(work, work.confirmedAt, attempt + 1)
    } catch (error) {
      if (!mayPass(error) || attempt + 1 >= tries) throw error
      if (classOf(error) !== 'rate')
        await patience.pause(jitter(attempt, kernel.random, defaultBackoff))
    }
  }
}

/** Reads after a write: a slow registry has about ten seconds. */
const looks = 6

async function isSeen({ isDone, kernel }: Converging, patience: Patience): Promise<boolean> {
  for (let look = 0; look < looks; look++) {
    if (look > 0) await patience.pause(jitter(look, kernel.random, defaultBackoff))
    if (await isDone(patience.options)) return true
  }
  return false
}

function notStored({ what }: Converging, registry: string, tries: number): HeddleError {
  const problem = 'it was answered with success and changed nothing'
  const details = { registry, action: what, problem, outcome: 'not-done' as const, tries }
  return new HeddleError('HDL_REGISTRY_UNAVAILABLE', details)
}
