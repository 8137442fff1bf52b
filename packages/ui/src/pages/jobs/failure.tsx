/** The failure behind a reference: the error, the attempts and the log of the job. For operators. */
import type { JSX } from 'preact'
import { isMissing } from '../../api/errors.ts'
import { readFailure, type FailureDetail } from '../../api/failures.ts'
import { browserClock } from '../../kernel/clock.ts'
import { CopyButton } from '../../parts/copy.tsx'
import { ErrorView } from '../../parts/error-view.tsx'
import { formatDuration, formatTime, plural } from '../../parts/format.ts'
import { LogView, textOfLines } from '../../parts/log-view.tsx'
import { Failed, Loading } from '../../parts/placeholders.tsx'
import { useResource } from '../../parts/resource.ts'
import { StateDot } from '../../parts/state.tsx'

/** Lines of the log that are shown at once. */
const shownLines = 500

export function Failure({ reference }: { readonly reference: string }): JSX.Element {
  const { value, error, reload } = useResource(
    (signal) => readFailure(reference, signal),
    [reference],
  )
  if (value !== undefined) return <FailureView failure={value} />
  if (isMissing(error)) {
    return (
      <p class="note">
        This server does not know the reference. It keeps its last 1,000 failures, until it is
        restarted; its log has all of them.
      </p>
    )
  }
  return error === undefined ? <Loading rows={3} /> : <Failed error={error} onRetry={reload} />
}

function FailureView({ failure }: { readonly failure: FailureDetail }): JSX.Element {
  const { error, attempts, log, at, job, route } = failure
  return (
    <section class="stack tight" aria-label="Failure">
      <p class="quiet num">
        {job ?? route} failed at {formatTime(at, browserClock.wallTime())}.
      </p>
      <ErrorView error={error} />
      {attempts.length > 0 && (
        <>
          <h3>{plural(attempts.length, 'attempt')}</h3>
          <ol class="attempts">
            {attempts.toReversed().map((attempt, index) => (
              <li key={attempts.length - index}>
                <div class="row">
                  <StateDot
                    state={attempt.outcome}
                    text={`${attempts.length - index}. ${attempt.outcome}`}
                  />
                  <span class="grow" />
                  <span class="num quiet">
                    {formatTime(attempt.started_at, at)},{' '}
                    {formatDuration(attempt.ended_at - attempt.started_at)}
                  </span>
                </div>
                {attempt.error !== undefined && index > 0 && <ErrorView error={attempt.error} />}
              </li>
            ))}
          </ol>
        </>
      )}
      {log.length > 0 && (
        <>
          <div class="row">
            <h3 class="grow">Log, {plural(log.length, 'line')}</h3>
            <CopyButton text={() => textOfLines(log)} label="Copy the lines" />
          </div>
          <LogView lines={log} label="Log" near={at} most={shownLines} />
        </>
      )}
    </section>
  )
}
