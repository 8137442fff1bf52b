/**
 * The browser's time and timers. The only file of the dashboard that touches them: tests pass a clock of their own.
 *
 * Times that the server sends are compared with this one. Where the clock of this machine differs from the server's, the
 * server's counts: a run that has just started did not start two hours ago.
 */

export interface Clock {
  /** Milliseconds since 1970, as the server counts them. */
  wallTime(): number
  /** Calls back once after this many milliseconds, unless the returned function was called before. */
  setTimer(milliseconds: number, callback: () => void): () => void
  /** Calls back before the next frame is drawn, unless the returned function was called before. */
  onFrame(callback: () => void): () => void
}

/** Milliseconds by which the server's clock is ahead of this machine's. */
let ahead = 0

/** Differences below this are those of the way of an answer, and of a header that counts in seconds. */
const tolerance = 5_000

/** Takes over the time of the server from the header `Date` of an answer that has just come. */
export function setServerTime(date: string | null): void {
  const difference = Date.parse(date ?? '') - Date.now()
  ahead = Math.abs(difference) > tolerance ? difference : 0
}

export const browserClock: Clock = {
  wallTime: () => Date.now() + ahead,
  setTimer(milliseconds, callback) {
    const timer = setTimeout(callback, milliseconds)
    return () => clearTimeout(timer)
  },
  onFrame(callback) {
    const frame = requestAnimationFrame(callback)
    return () => cancelAnimationFrame(frame)
  },
}
