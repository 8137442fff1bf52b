/** Something that is asked for again and again while it is shown. It pauses with the live updates of the tab. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { isRefused } from '../api/errors.ts'
import { browserClock } from '../kernel/clock.ts'
import { live } from './live-switch.tsx'

export interface Polled<T> {
  readonly value: T | undefined
  readonly error: unknown
  /** Asks at once: after something was changed from here. */
  readonly reload: () => void
}

/** `inputs`: when one of them changes, it starts again. */
export function usePoll<T>(
  fetch: (signal: AbortSignal) => Promise<T>,
  interval: number,
  inputs: readonly unknown[],
): Polled<T> {
  const value = useSignal<T | undefined>(undefined)
  const error = useSignal<unknown>(undefined)
  const wake = useRef<() => void>(() => {})
  /** Wanted while an answer was under way, which may be older than what was changed. */
  const isWanted = useRef(false)
  useEffect(
    () =>
      live.follow(async ({ signal, onState, onEvent }) => {
        while (!signal.aborted) {
          isWanted.current = false
          try {
            value.value = await fetch(signal)
            error.value = undefined
            onEvent()
          } catch (problem) {
            if (signal.aborted) return
            error.value = problem
            // A refused request is not repeated: the connection is not lost.
            if (isRefused(problem)) throw problem
            onState('lost')
          }
          if (!isWanted.current) await pause(interval, signal, (go) => (wake.current = go))
        }
      }),
    [...inputs],
  )
  const reload = (): void => {
    isWanted.current = true
    wake.current()
  }
  return { value: value.value, error: error.value, reload }
}

async function pause(
  milliseconds: number,
  signal: AbortSignal,
  onWakeable: (wake: () => void) => void,
): Promise<void> {
  await new Promise<void>((resolve) => {
    const cancel = browserClock.setTimer(milliseconds, resolve)
    const end = (): void => {
      cancel()
      resolve()
    }
    signal.addEventListener('abort', end, { once: true })
    onWakeable(end)
  })
}
