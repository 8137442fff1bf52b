/** Called on each beat with the milliseconds since the last one, and how many of them the loop was busy. */
export type OnBeat = (elapsed: number, busy: number) => void

/** A beat that goes on until it is stopped. */
export interface Beat {
  /** Milliseconds since the last beat. */
  elapsed(): number
  /** Beats once now, out of turn. */
  flush(): void
  /** Stopping twice is harmless. */
  stop(): void
}

/** The loop's time so far that was not spent waiting for events. Undefined before its first turn. */
function busyTime(): number | undefined {
  const { active, idle } = performance.eventLoopUtilization()
  return active === 0 && idle === 0 ? undefined : active
}

/**
 * Beats on this thread's event loop, every `interval` milliseconds as long as the loop turns.
 *
 * It is no part of the clock: the clock's timers keep the process alive and can be virtual, while
 * the beat measures this very loop and keeps nothing alive. Time in which the process was stopped,
 * or did not get a processor, while it waited for events counts as elapsed and not as busy.
 */
export function startBeat(interval: number, onBeat: OnBeat): Beat {
  let last = performance.now()
  let lastBusy = busyTime()
  const beat = (): void => {
    const now = performance.now()
    const nowBusy = busyTime()
    const elapsed = now - last
    const busy = nowBusy === undefined || lastBusy === undefined ? elapsed : nowBusy - lastBusy
    last = now
    lastBusy = nowBusy
    onBeat(elapsed, Math.min(elapsed, busy))
  }
  const native = setInterval(beat, interval)
  native.unref()
  return {
    elapsed: () => performance.now() - last,
    flush: beat,
    stop: () => clearInterval(native),
  }
}
