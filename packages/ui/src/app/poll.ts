/** Something that is asked for again and again while it is shown. It pauses with the live updates of the tab. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { isMissing } from '../api/errors.ts'
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
  useEffect(
    () =>
      live.follow(async ({ signal, onState, onEvent }) => {
        while (!signal.aborted) {
          try {
            value.value = await fetch(signal)
            error.value = undefined
            onEvent()
          } catch (problem) {
            if (signal.aborted) return
            error.value = problem
            // A missing resource is not requested again: the connection is not lost.
            if (isMissing(problem)) throw problem
            onState('lost')
          }
          await pause(interval, signal, (go) => (wake.current = go))
        }
      }),
    [...inputs],
  )
  return { value: value.value, error: error.value, reload: () => wake.current() }
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
