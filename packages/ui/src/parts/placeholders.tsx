/** Placeholders where nothing can be shown: loading, empty, failed. */
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { describeError, isPassing } from '../api/errors.ts'
import { browserClock } from '../kernel/clock.ts'

export function Empty({
  title,
  children,
}: {
  readonly title: string
  readonly children?: ComponentChildren
}): JSX.Element {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  )
}

export function Failed({
  error,
  onRetry,
}: {
  readonly error: unknown
  readonly onRetry?: () => void
}): JSX.Element {
  return (
    <div class="note bad" role="alert">
      <span class="grow">
        {describeError(error)} {isPassing(error) && 'The view is filled as soon as it answers.'}
      </span>
      {onRetry !== undefined && (
        <button class="button small" type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  )
}

/** Milliseconds after which it says that it is the server that is waited for. */
const longWait = 5_000

export function Loading({ rows = 6 }: { readonly rows?: number }): JSX.Element {
  const [isLong, setLong] = useState(false)
  useEffect(() => browserClock.setTimer(longWait, () => setLong(true)), [])
  return (
    <div class="stack" aria-busy="true">
      {isLong ? (
        <p class="quiet" role="status">
          The server has not answered yet.
        </p>
      ) : (
        <span class="sr">Loading</span>
      )}
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} class={`skeleton w${(index * 7) % 4}`} />
      ))}
    </div>
  )
}
