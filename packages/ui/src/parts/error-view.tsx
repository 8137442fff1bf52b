/** A recorded error with its stack, its causes, and its members. */
import type { JSX } from 'preact'
import type { RecordedError } from '../api/contract.ts'
import { withoutEscapes } from './log-text.ts'

/** `depth`: how many errors it is inside of. */
export function ErrorView({
  error,
  depth = 0,
}: {
  readonly error: RecordedError
  readonly depth?: number
}): JSX.Element {
  return (
    <div class="error-view">
      <p>
        <b>{error.code ?? error.name}</b> {withoutEscapes(error.message)}
      </p>
      {error.stack !== undefined && (
        <details>
          <summary>Stack</summary>
          <pre class="code" tabIndex={0} aria-label="Stack">
            {withoutEscapes(error.stack)}
          </pre>
        </details>
      )}
      {depth < 8 && error.cause !== undefined && (
        <div class="cause">
          <span class="quiet">caused by</span>
          <ErrorView error={error.cause} depth={depth + 1} />
        </div>
      )}
      {depth < 8 &&
        error.errors?.map((each, index) => (
          <ErrorView key={index} error={each} depth={depth + 1} />
        ))}
    </div>
  )
}
