import { HeddleError, type ErrorCode } from '@heddle/core'

/** The answer to a request, to read without waiting for it. */
export interface Told<T> {
  state: 'pending' | 'fulfilled' | 'rejected'
  value?: T
  error?: unknown
  /** How often. */
  times: number
}

export function told<T>(promise: Promise<T>): Told<T> {
  const seen: Told<T> = { state: 'pending', times: 0 }
  promise.then(
    (value) => {
      seen.state = 'fulfilled'
      seen.value = value
      seen.times++
    },
    (error: unknown) => {
      seen.state = 'rejected'
      seen.error = error
      seen.times++
    },
  )
  return seen
}

export function codeOf(error: unknown): ErrorCode | undefined {
  return error instanceof HeddleError ? error.code : undefined
}

/** For `assert.rejects` and `assert.throws`. */
export function withCode(code: ErrorCode): (error: unknown) => boolean {
  return (error) => codeOf(error) === code
}
