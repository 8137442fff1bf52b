/** The event loop of the server: what held it up, and what its threads do. */
import type { JSX } from 'preact'
import { usePoll } from '../../app/poll.ts'
import { readLoop, type LoopView } from '../../api/machine.ts'
import { CopyButton } from '../../parts/copy.tsx'
import { Figure } from '../../parts/figure.tsx'
import { formatCount, formatDateTime, formatDuration, plural } from '../../parts/format.ts'
import { Empty, Failed, Loading } from '../../parts/placeholders.tsx'
import { StateDot } from '../../parts/state.tsx'
import { TableCard } from '../../parts/table.tsx'

/** Milliseconds. */
const interval = 2_000

export function LoopPage(): JSX.Element {
  const { value, error, reload } = usePoll(readLoop, interval, [])
  return (
    <main class="page" id="content" tabIndex={0}>
      <div class="page-head">
        <div>
          <h1>Event loop</h1>
          <p>While one piece of code holds the loop, every request and every run waits.</p>
        </div>
      </div>
      {error !== undefined && <Failed error={error} onRetry={reload} />}
      {value === undefined ? error === undefined && <Loading /> : <Content view={value} />}
    </main>
  )
}

function Content({ view }: { readonly view: LoopView }): JSX.Element {
  const busy = view.threads.filter((thread) => thread.busy).length
  return (
    <div class="stack">
      {!view.is_watched && <p class="note warn">The loop of this server is not watched.</p>}
      <dl class="figures">
        <Figure
          title="Longest gap"
          value={formatDuration(view.longest_ms)}
          note="since the server started"
        />
        <Figure
          title="Gaps"
          value={formatCount(view.gaps)}
          note={`of ${formatDuration(view.threshold_ms)} or more`}
        />
        <Figure
          title="Delay, p99"
          value={formatDuration(view.delay.p99)}
          note={`median ${formatDuration(view.delay.p50)}`}
        />
        <Figure
          title="Machine too busy"
          value={formatCount(view.starved.gaps)}
          note={
            view.starved.gaps === 0
              ? 'no gap was caused by other processes'
              : `gaps caused by other processes, longest ${formatDuration(view.starved.longest_ms)}`
          }
        />
        <Figure
          title="Threads busy"
          value={`${busy} of ${view.threads.length}`}
          note={`${formatCount(view.queued)} waiting`}
        />
      </dl>
      <Gaps view={view} />
      <div class="columns">
        <Threads view={view} />
        <Jobs view={view} />
      </div>
    </div>
  )
}

function Gaps({ view }: { readonly view: LoopView }): JSX.Element {
  if (view.recent.length === 0) {
    return (
      <section class="card">
        <Empty title="No gap so far">
          <p>Nothing has held the loop for {formatDuration(view.threshold_ms)} or longer.</p>
        </Empty>
      </section>
    )
  }
  return (
    <TableCard
      title="Gaps, newest first"
      side={<span class="quiet">the last {view.recent.length}</span>}
    >
      <table>
        <thead>
          <tr>
            <th>When</th>
            <th class="right">Held for</th>
            <th>Job or route</th>
            <th>Where</th>
          </tr>
        </thead>
        <tbody>
          {view.recent.map((gap) => (
            <tr key={gap.started_at}>
              <td class="nowrap num soft">{formatDateTime(gap.started_at)}</td>
              <td class="right held">
                <b class="nowrap">{formatDuration(gap.ms)}</b>
                {gap.starved_ms >= 1 && (
                  <div class="quiet">
                    plus <span class="nowrap">{formatDuration(gap.starved_ms)}</span> waiting for a
                    processor
                  </div>
                )}
              </td>
              <td>
                {gap.label ?? <span class="quiet">unknown</span>}
                {!gap.certain && <div class="quiet">seen right after it</div>}
              </td>
              <td class="where">
                <Stack stack={gap.stack} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableCard>
  )
}

function Stack({ stack }: { readonly stack: readonly string[] }): JSX.Element {
  const [first] = stack
  if (first === undefined) return <span class="quiet">no stack could be taken</span>
  return (
    <details>
      <summary class="mono">{shorten(first)}</summary>
      <div class="row">
        <pre class="code grow" tabIndex={0} aria-label="Stack">
          {stack.join('\n')}
        </pre>
        <CopyButton text={stack.join('\n')} label="Copy the stack" />
      </div>
    </details>
  )
}

/** `parse (/srv/app/src/jobs.ts:12:9)` as `parse (src/jobs.ts:12:9)`; code without a name has only its place. */
function shorten(frame: string): string {
  return frame.replace(/\/(?:[^/()]+\/)*([^/()]+\/[^/()]+?\)?)$/, '$1')
}

function Threads({ view }: { readonly view: LoopView }): JSX.Element {
  return (
    <TableCard
      title="Threads"
      side={
        (view.crashed > 0 || view.killed > 0) && (
          <span class="warn-text">
            {plural(view.crashed, 'crash', 'crashes')}, {formatCount(view.killed)} ended by force
          </span>
        )
      }
    >
      {view.threads.length === 0 ? (
        <p class="empty">No thread runs: they start with the first job that needs one.</p>
      ) : (
        <table>
          <thead>
            <tr>
              <th>Thread</th>
              <th>State</th>
              <th class="right">In flight</th>
              <th class="right">Finished</th>
            </tr>
          </thead>
          <tbody>
            {view.threads.map((thread) => (
              <tr key={thread.id}>
                <td class="num">{thread.id}</td>
                <td>
                  <StateDot
                    state={thread.busy ? 'running' : 'waiting'}
                    text={thread.state === 'ready' ? (thread.busy ? 'busy' : 'idle') : thread.state}
                  />
                </td>
                <td class="right">{formatCount(thread.in_flight)}</td>
                <td class="right">{formatCount(thread.finished)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </TableCard>
  )
}

function Jobs({ view }: { readonly view: LoopView }): JSX.Element | null {
  if (view.thread_jobs.length === 0) return null
  const jobs = view.thread_jobs.toSorted((a, b) => b.mean_ms - a.mean_ms)
  return (
    <TableCard title="Thread jobs, slowest first">
      <table>
        <thead>
          <tr>
            <th>Job</th>
            <th class="right">Runs</th>
            <th class="right">Mean time</th>
          </tr>
        </thead>
        <tbody>
          {jobs.slice(0, 20).map((job) => (
            <tr key={job.job}>
              <td class="mono">{job.job}</td>
              <td class="right">{formatCount(job.runs)}</td>
              <td class="right">{formatDuration(job.mean_ms)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableCard>
  )
}
