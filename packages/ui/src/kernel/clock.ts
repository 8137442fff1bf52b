/** The browser's time and timers. The only file of the dashboard that touches them: tests pass a clock of their own. */

export interface Clock {
  /** Milliseconds since 1970. */
  wallTime(): number
  /** Calls back once after this many milliseconds, unless the returned function was called before. */
  setTimer(milliseconds: number, callback: () => void): () => void
  /** Calls back before the next frame is drawn, unless the returned function was called before. */
  onFrame(callback: () => void): () => void
}

export const browserClock: Clock = {
  wallTime: () => Date.now(),
  setTimer(milliseconds, callback) {
    const timer = setTimeout(callback, milliseconds)
    return () => clearTimeout(timer)
  },
  onFrame(callback) {
    const frame = requestAnimationFrame(callback)
    return () => cancelAnimationFrame(frame)
  },
}
