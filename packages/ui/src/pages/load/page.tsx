/** How busy the server is, what it refuses and why, and what its event loop does. */
import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { call } from '../../api/client.ts'
import { browserClock } from '../../kernel/clock.ts'
import { Chart } from '../../parts/chart.tsx'
import { colours } from '../../parts/colours.ts'
import { formatCount, formatDuration, formatPercent } from '../../parts/format.ts'
import { Figure } from '../../parts/figure.tsx'
import { Failed, Loading } from '../../parts/placeholders.tsx'
import { State } from '../../parts/state.tsx'
import { addSample, ratesOf, type Health, type QueueHealth, type Sample } from './health.ts'

const interval = 1_000

export function LoadPage(): JSX.Element {
  const history = useSignal<readonly Sample[]>([])
  const error = useSignal<unknown>(undefined)
  useEffect(() => {
    const abort = new AbortController()
    let cancel: () => void = () => {}
    const ask = async (): Promise<void> => {
      try {
        const health = await call<Health>('GET /healthz', { signal: abort.signal })
        history.value = addSample(history.peek(), { at: browserClock.wallTime() / 1_000, health })
        error.value = undefined
      } catch (problem) {
        if (!abort.signal.aborted) error.value = problem
      }
      if (!abort.signal.aborted) cancel = browserClock.setTimer(interval, () => void ask())
    }
    void ask()
    return () => {
      abort.abort()
      cancel()
    }
  }, [])
  const last = history.value.at(-1)?.health
  return (
    <main class="page" id="content" tabIndex={-1}>
      <div class="page-head">
        <div>
          <h1>Load</h1>
          <p>What is admitted, refused and under way, since this view was opened.</p>
        </div>
        {last !== undefined && (
          <State
            state={last.draining ? 'draining' : last.status === 'ok' ? 'ok' : 'warning'}
            text={last.draining ? 'draining' : last.status}
          />
        )}
      </div>
      {error.value !== undefined && <Failed error={error.value} />}
      {last === undefined ? (
        error.value === undefined && <Loading />
      ) : (
        <Figures last={last} history={history.value} />
      )}
    </main>
  )
}

function Figures({
  last,
  history,
}: {
  readonly last: Health
  readonly history: readonly Sample[]
}): JSX.Element {
  const colour = colours()
  const times = history.map(({ at }) => at)
  const queues = Object.entries(last.queues ?? {})
  const rejected = (health: Health): number =>
    Object.values(health.queues ?? {}).reduce((sum, queue) => sum + queue.rejected, 0)
  const finished = (health: Health): number =>
    Object.values(health.queues ?? {}).reduce((sum, queue) => sum + queue.finished, 0)
  return (
    <div class="stack">
      {last.causes.length > 0 && (
        <div class="note warn" role="alert">
          <ul>
            {last.causes.map((cause) => (
              <li key={cause}>{cause}</li>
            ))}
          </ul>
        </div>
      )}
      <dl class="figures">
        <Figure
          title="Load"
          value={formatPercent(last.load?.utilisation ?? 0)}
          note={last.load?.label ?? ''}
        />
        <Figure
          title="Requests under way"
          value={formatCount(last.requests ?? 0)}
          note={`${formatCount(last.connections.open)} connections`}
        />
        <Figure
          title="Refused"
          value={formatCount(rejected(last))}
          note="since the server started"
        />
        <Figure
          title="Threads busy"
          value={formatCount(last.threads.busy)}
          note={`${formatCount(last.threads.queued)} waiting`}
        />
        <Figure
          title="Longest loop gap"
          value={formatDuration(last.loop.longest_gap_ms)}
          note={`${formatCount(last.loop.gaps)} gaps`}
        />
      </dl>
      <div class="columns">
        <section class="card body">
          <Chart
            title="Fill of the queues"
            times={times}
            format={formatPercent}
            series={queues.map(([name], i) => ({
              label: name,
              colour: i === 0 ? colour.accent : colour.states[9]!,
              values: history.map(({ health }) => fillOf(health.queues?.[name])),
            }))}
          />
        </section>
        <section class="card body">
          <Chart
            title="Answers and refusals a second"
            times={times}
            format={(value) => (Math.round(value * 10) / 10).toString()}
            series={[
              { label: 'finished', colour: colour.states[4]!, values: ratesOf(history, finished) },
              { label: 'refused', colour: colour.states[5]!, values: ratesOf(history, rejected) },
            ]}
          />
        </section>
      </div>
      <section class="card table-wrap">
        <header>
          <h2>Stages</h2>
        </header>
        <table>
          <thead>
            <tr>
              <th>Stage</th>
              <th>Load</th>
              <th class="right">Waiting</th>
              <th class="right">Running</th>
              <th class="right">Finished</th>
              <th class="right">Wait p50 / p99</th>
              <th class="right">Run p50 / p99</th>
              <th>Refused</th>
            </tr>
          </thead>
          <tbody>
            {queues.map(([name, queue]) => (
              <tr key={name}>
                <td>{name}</td>
                <td>{queue.load.label}</td>
                <td class="right">
                  {formatCount(queue.queued)} of {formatCount(queue.capacity)}
                </td>
                <td class="right">{formatCount(queue.running)}</td>
                <td class="right">{formatCount(queue.finished)}</td>
                <td class="right">
                  {formatDuration(queue.wait.p50)} / {formatDuration(queue.wait.p99)}
                </td>
                <td class="right">
                  {formatDuration(queue.run.p50)} / {formatDuration(queue.run.p99)}
                </td>
                <td>{reasonsOf(queue)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {last.outcomes !== undefined && (
        <section class="card">
          <header>
            <h2>Requests by outcome</h2>
          </header>
          <dl class="pairs body">
            {Object.entries(last.outcomes).map(([outcome, count]) => (
              <>
                <dt>{outcome}</dt>
                <dd class="num">{formatCount(count)}</dd>
              </>
            ))}
          </dl>
        </section>
      )}
    </div>
  )
}

function fillOf(queue: QueueHealth | undefined): number {
  return queue === undefined || queue.capacity === 0 ? 0 : queue.queued / queue.capacity
}

function reasonsOf({ rejectedBy, rejected }: QueueHealth): string {
  if (rejected === 0) return 'none'
  return Object.entries(rejectedBy)
    .filter(([, count]) => count > 0)
    .map(([reason, count]) => `${formatCount(count)} ${reason}`)
    .join(', ')
}
