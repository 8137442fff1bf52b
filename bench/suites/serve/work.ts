/** The computation of this suite's jobs: the same bytes by the same code of OpenSSL in Node and in Python. */
import { pbkdf2Sync } from 'node:crypto'

/** About 5 ms of one core of the machine of `docs/design/bench.md`; all entrants do as many, so what a step takes does not matter. */
export const steps = 16_000

export function work(n: number): string {
  return pbkdf2Sync(String(n), 'heddle', steps, 16, 'sha256').toString('hex')
}

/** Size of the result in the row with readers, in characters of JSON. */
export const largeSize = 1_000_000

export function large(): string {
  return 'x'.repeat(largeSize)
}
