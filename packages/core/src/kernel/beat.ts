import { openProcessor, type Processor } from './processor.ts'

/** What happened on the loop between two beats, in milliseconds. */
export interface Pulse {
  /** Time since the last beat. */
  readonly elapsed: number
  /** The part of it that the loop did not spend waiting for events. */
  readonly busy: number
  /** How much of it the loop's thread was on a processor, where that is known. */
  readonly ran: number | undefined
  /** How much of it the thread was ready and had no processor, where that is known. */
  readonly queued: number | undefined
}

export type OnBeat = (pulse: Pulse) => void

/** A beat that continues until it is stopped. */
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

function difference(now: number | undefined, before: number | undefined): number | undefined {
  return now === undefined || before === undefined ? undefined : Math.max(0, now - before)
}

/**
 * Beats on this thread's event loop, every `interval` milliseconds as long as the loop turns.
 *
 * It is not part of the clock: the clock's timers keep the process alive and can be virtual, while
 * the beat measures this very loop and keeps nothing alive. Time in which the process was stopped,
 * or did not get a processor, while it waited for events counts as elapsed and not as busy; time without
 * a processor while it had work is `queued`.
 */
export function startBeat(
  interval: number,
  onBeat: OnBeat,
  processor: Processor = openProcessor(),
): Beat {
  let last = performance.now()
  let lastBusy = busyTime()
  let lastTimes = processor.read()
  const beat = (): void => {
    const now = performance.now()
    const nowBusy = busyTime()
    const times = processor.read()
    const elapsed = now - last
    const busy = difference(nowBusy, lastBusy) ?? elapsed
    const ran = difference(times.ran, lastTimes.ran)
    const queued = difference(times.queued, lastTimes.queued)
    last = now
    lastBusy = nowBusy
    lastTimes = times
    onBeat({ elapsed, busy: Math.min(elapsed, busy), ran, queued })
  }
  const native = setInterval(beat, interval)
  native.unref()
  let isStopped = false
  return {
    elapsed: () => performance.now() - last,
    flush: beat,
    stop: () => {
      clearInterval(native)
      if (isStopped) return
      isStopped = true
      processor[Symbol.dispose]()
    },
  }
}
