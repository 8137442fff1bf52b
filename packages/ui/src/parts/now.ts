/** Time that moves on while something is shown with its age. */
import { useEffect } from 'preact/hooks'
import { browserClock } from '../kernel/clock.ts'
import { Ticker } from '../kernel/ticker.ts'

const seconds = new Ticker(browserClock, 1_000)

/** Milliseconds since 1970, again every second while `isMoving`. */
export function useNow(isMoving = true): number {
  useEffect(() => (isMoving ? seconds.watch() : undefined), [isMoving])
  return isMoving ? seconds.now.value : seconds.now.peek()
}
