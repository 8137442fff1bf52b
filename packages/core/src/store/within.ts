import { HeddleError } from '../errors.ts'
import type { Clock } from '../kernel/clock.ts'

/**
 * Waits for a call to the database, but not for ever.
 *
 * *Cancellation*: at the deadline the answer is given up with `HDL_TIMEOUT`. The call may still be carried out.
 */
export function within<T>(clock: Clock, deadline: number, call: Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = clock.setTimer(deadline, () =>
      reject(new HeddleError('HDL_TIMEOUT', { what: 'A call to the database', limit: deadline })),
    )
    call.then(
      (value) => {
        timer.cancel()
        resolve(value)
      },
      (error: unknown) => {
        timer.cancel()
        reject(error)
      },
    )
  })
}
