/** Time that moves on while something is shown with its age. */
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { browserClock } from '../kernel/clock.ts'

const now = signal(browserClock.wallTime())

/** Milliseconds since 1970, again every second while `isMoving`. */
export function useNow(isMoving = true): number {
  useEffect(() => {
    if (!isMoving) return undefined
    let cancel: () => void
    const tick = (): void => {
      now.value = browserClock.wallTime()
      cancel = browserClock.setTimer(1_000, tick)
    }
    tick()
    return () => cancel()
  }, [isMoving])
  return isMoving ? now.value : now.peek()
}
