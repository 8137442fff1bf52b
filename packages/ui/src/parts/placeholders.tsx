/** Placeholders where nothing can be shown: loading, empty, failed. */
import type { ComponentChildren, JSX } from 'preact'
import { describeError } from '../api/errors.ts'

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
      <span class="grow">{describeError(error)}</span>
      {onRetry !== undefined && (
        <button class="button small" type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  )
}

export function Loading({ rows = 6 }: { readonly rows?: number }): JSX.Element {
  return (
    <div class="stack" aria-busy="true">
      <span class="sr">Loading</span>
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} class={`skeleton w${(index * 7) % 4}`} />
      ))}
    </div>
  )
}
