import { isoTime } from '../kernel/iso-time.ts'
import { systemKernel, type Kernel } from '../kernel/kernel.ts'

/** Without letters that look like digits, and without vowels, so that no words come out. */
const letters = '0123456789bcdfghjkmnpqrstvwxz'

const randomLetters = 6

/**
 * An id for a run: sorts by time, is short enough to type, and is unique for practical purposes (one
 * in 590 million within a second; a journal refuses to use one twice).
 *
 * @example
 * newRunId() // '20261115-224501-k3f9q2'
 */
export function newRunId(kernel: Kernel = systemKernel): string {
  const [date = '', time = ''] = isoTime(kernel.clock.wallTime()).split('T')
  let id = `${date.replaceAll('-', '')}-${time.slice(0, 8).replaceAll(':', '')}-`
  for (let i = 0; i < randomLetters; i++) {
    id += letters[Math.floor(kernel.random.next() * letters.length)]
  }
  return id
}
