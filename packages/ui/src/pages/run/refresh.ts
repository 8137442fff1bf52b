/** Asks again for what a run changes while it is watched. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { isPassing } from '../../api/errors.ts'
import { browserClock } from '../../kernel/clock.ts'
import { Throttle } from '../../kernel/throttle.ts'
import type { RunView } from './run-view.ts'

/** Milliseconds between two readings while the run changes. */
const interval = 700
/** Milliseconds after which what failed for a passing reason is read again. */
const retryPause = 3_000

interface Refreshed {
  readonly error: unknown
  /** Reads once more. */
  readonly reload: () => void
}

/**
 * Reads when the component is shown, and after each change of the run. When one of the `inputs` changes it begins again:
 * `begin` gives what reads from then on.
 */
export function useRefresh(
  view: RunView,
  begin: (signal: AbortSignal) => () => Promise<void>,
  inputs: readonly unknown[],
): Refreshed {
  const error = useSignal<unknown>(undefined)
  const current = useRef<Throttle | undefined>(undefined)
  useEffect(() => {
    const abort = new AbortController()
    const read = begin(abort.signal)
    let cancelRetry: () => void = () => {}
    const action = async (): Promise<void> => {
      cancelRetry()
      try {
        await read()
        error.value = undefined
      } catch (problem) {
        if (abort.signal.aborted) return
        error.value = problem
        if (isPassing(problem)) {
          cancelRetry = browserClock.setTimer(retryPause, () => throttle.call())
        }
      }
    }
    const throttle = new Throttle(action, interval, browserClock)
    current.current = throttle
    throttle.call()
    return () => {
      abort.abort()
      cancelRetry()
      throttle.stop()
    }
  }, [...inputs])
  const version = view.store.version.value
  // The change that ends the run counts too: the last lines and the last state come with it.
  const wasLive = useRef(view.store.isLive)
  useEffect(() => {
    const { isLive } = view.store
    if (isLive || wasLive.current) current.current?.call()
    wasLive.current = isLive
  }, [version])
  return { error: error.value, reload: () => current.current?.call() }
}
