/** A clock that stands still until it is moved. */
import type { Clock } from '../../src/kernel/clock.ts'

export interface ManualClock extends Clock {
  /** Moves on, and runs the timers that are due. */
  advance(milliseconds: number): void
}

export function manualClock(): ManualClock {
  let now = 0
  let timers: { readonly at: number; readonly callback: () => void }[] = []
  const add = (at: number, callback: () => void): (() => void) => {
    const timer = { at, callback }
    timers.push(timer)
    return () => {
      timers = timers.filter((each) => each !== timer)
    }
  }
  return {
    wallTime: () => now,
    setTimer: (milliseconds, callback) => add(now + milliseconds, callback),
    onFrame: (callback) => add(now + 16, callback),
    advance(milliseconds) {
      const until = now + milliseconds
      for (;;) {
        const next = timers.toSorted((a, b) => a.at - b.at)[0]
        if (next === undefined || next.at > until) break
        timers = timers.filter((each) => each !== next)
        now = Math.max(now, next.at)
        next.callback()
      }
      now = until
    },
  }
}
