import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { HeddleError, type ErrorCode } from '../../src/errors.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import type { Kernel } from '../../src/kernel/kernel.ts'
import { seededRandom } from '../../src/kernel/random.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'

export interface TestKernel extends Kernel {
  readonly clock: VirtualClock
}

export function testKernel(): TestKernel {
  return { clock: new VirtualClock(), random: seededRandom(1) }
}

/** Lets all promise reactions run. */
export function turn(): Promise<void> {
  return new Promise((done) => systemClock.afterIo(done))
}

/** A promise one can look at without waiting for it. */
export interface Watched<T> {
  state: 'pending' | 'fulfilled' | 'rejected'
  value: T | undefined
  error: unknown
}

export function watch<T>(promise: Promise<T>): Watched<T> {
  const watched: Watched<T> = { state: 'pending', value: undefined, error: undefined }
  promise.then(
    (value) => {
      watched.state = 'fulfilled'
      watched.value = value
    },
    (error: unknown) => {
      watched.state = 'rejected'
      watched.error = error
    },
  )
  return watched
}

export function codeOf(error: unknown): ErrorCode | undefined {
  return error instanceof HeddleError ? error.code : undefined
}

/** For `assert.rejects` and `assert.throws`. */
export function withCode(code: ErrorCode): (error: unknown) => true {
  return (error) => {
    assert.equal(codeOf(error), code, String(error))
    return true
  }
}

/** How many native listeners the signal has. */
export function listenersOf(signal: AbortSignal): number {
  return getEventListeners(signal, 'abort').length
}

/** A promise that a test settles. */
export function gate<T = void>(): PromiseWithResolvers<T> {
  return Promise.withResolvers<T>()
}
