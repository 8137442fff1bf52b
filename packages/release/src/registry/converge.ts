import type { Kernel, WaitOptions } from '@heddle/core/lowlevel'
import { classOf, classPolicies } from './error-class.ts'
import { defaultBackoff, jitter } from './http/backoff.ts'
import { Patience } from './wait.ts'

export interface Converging {
  readonly what: string
  readonly kernel: Kernel
  /** Whether the registry holds what is wanted. */
  readonly isDone: (wait: WaitOptions) => Promise<boolean>
  /** One try to get there. */
  readonly write: (wait: WaitOptions) => Promise<void>
  /** How often it is written, at most. Default 4. */
  readonly tries?: number
  /** Write first, for what cannot be recognised before. */
  readonly writeFirst?: boolean
}

/**
 * Writes until a read says that it is so: for small changes that two runs may make at once.
 *
 * *Cancellation*: leaves the last write as it is; asking again goes on from what the registry holds.
 */
export async function converge(work: Converging, wait: WaitOptions = {}): Promise<void> {
  const { kernel, tries = 4 } = work
  const patience = new Patience(work.what, kernel, wait)
  for (let attempt = 0; ; attempt++) {
    const mayBeDone = attempt > 0 || work.writeFirst !== true
    if (mayBeDone && (await work.isDone(patience.options))) return
    try {
      return await work.write(patience.options)
    } catch (error) {
      const kind = classOf(error)
      if (kind === undefined || !classPolicies[kind].again || attempt + 1 >= tries) throw error
      if (kind !== 'rate') await patience.sleep(jitter(attempt, kernel.random, defaultBackoff))
    }
  }
}
