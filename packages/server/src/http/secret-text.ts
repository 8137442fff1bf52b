/**
 * Texts that cannot be guessed, from the system's source of secrets. Each question to that source is a call to the system: it is
 * asked for many at a time.
 */
import { randomBytes } from 'node:crypto'

const poolBytes = 4_096

let pool = Buffer.alloc(0)
let used = 0

/** This many random bytes, in base64url. At most 64. */
export function secretText(bytes: number): string {
  if (used + bytes > pool.length) {
    pool = randomBytes(poolBytes)
    used = 0
  }
  const text = pool.toString('base64url', used, used + bytes)
  used += bytes
  return text
}
