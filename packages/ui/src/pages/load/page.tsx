/** The load of the server, its refusals and their reasons, and the waiting requests. */
import type { Computation } from '@heddle/server/client'
import { Fragment, type JSX } from 'preact'
import { usePoll } from '../../app/poll.ts'
import { call } from '../../api/client.ts'
import { readLoad, type LoadView } from '../../api/machine.ts'
import { may } from '../../api/session.ts'
import { Chart } from '../../parts/chart.tsx'
import { colours, lineColours } from '../../parts/colours.ts'
import { ask } from '../../parts/confirm.tsx'
import { Figure } from '../../parts/figure.tsx'
import {
  formatCount,
  formatDateTime,
  formatDuration,
  formatPercent,
  plural,
  shortId,
} from '../../parts/format.ts'
import { Failed, Loading } from '../../parts/placeholders.tsx'
import { State, StateDot } from '../../parts/state.tsx'
import { TableCard, TableWrap } from '../../parts/table.tsx'
import {
  byTenant,
  lanesOf,
  oldestWaiting,
  ratesOf,
  type Health,
  type QueueHealth,
} from './health.ts'
import { LevelStrip } from './level-strip.tsx'
import { wordOf } from './levels.ts'

/** Milliseconds. */
const interval = 2_000

interface Loaded {
  readonly health: Health
  readonly load: LoadView
  readonly computations: Computations
}

interface Computations {
  readonly computations: readonly Computation[]
  readonly total: number
}

export function LoadPage(): JSX.Element {
  const { value, error, reload } = usePoll(
    async (signal): Promise<Loaded> => {
      const [health, load, computations] = await Promise.all([
        // The table lists what every caller may see; the rest needs more rights.
        call('GET /healthz', { signal }) as Promise<unknown> as Promise<Health>,
        readLoad(signal),
        call('GET /computations', { query: { limit: 200 }, signal }),
      ])
      return { health, load, computations }
    },
    interval,
    [],
  )
  const health = value?.health
  return (
    <main class="page" id="content" tabIndex={0}>
      <div class="page-head">
        <div>
          <h1>Load</h1>
          <p>What is admitted, refused and under way, over the last ten minutes.</p>
        </div>
        {health !== undefined && (
          <State
            state={health.draining ? 'draining' : health.status === 'ok' ? 'ok' : 'warning'}
            text={health.draining ? 'draining' : health.status}
          />
        )}
      </div>
      {error !== undefined && <Failed error={error} onRetry={reload} />}
      {value === undefined ? error === undefined && <Loading /> : <Figures loaded={value} />}
    </main>
  )
}

function Figures({ loaded }: { readonly loaded: Loaded }): JSX.Element {
  const { health: last, load, computations } = loaded
  const colour = colours()
  const lines = lineColours(colour)
  const times = load.at.map((at) => at / 1_000)
  const queues = Object.entries(last.queues ?? {})
  const rejected = (health: Health): number =>
    Object.values(health.queues ?? {}).reduce((sum, queue) => sum + queue.rejected, 0)
  return (
    <div class="stack">
      {last.causes.length > 0 && (
        <div class="note warn" role="alert">
          <ul>
            {last.causes.map((cause) => (
              <li key={cause}>{cause.charAt(0).toUpperCase() + cause.slice(1)}.</li>
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
          note={plural(last.connections.open, 'connection')}
        />
        <Oldest computations={computations.computations} />
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
          note={plural(last.loop.gaps, 'gap')}
        />
      </dl>
      <div class="columns">
        <section class="card body">
          <Chart
            title="Load"
            times={times}
            format={formatPercent}
            series={[
              {
                label: wordOf(load.level.at(-1) ?? ''),
                colour: colour.accent,
                values: load.utilisation,
              },
            ]}
          />
          <LevelStrip at={load.at} levels={load.level} />
        </section>
        <section class="card body">
          <Chart
            title="Answers and refusals a second"
            times={times}
            format={(value) => (Math.round(value * 10) / 10).toString()}
            series={[
              {
                label: 'finished',
                colour: colour.states[4]!,
                values: ratesOf(load.at, load.finished),
              },
              {
                label: 'refused',
                colour: colour.states[5]!,
                values: ratesOf(load.at, load.refused),
              },
            ]}
          />
        </section>
      </div>
      <div class="columns">
        <section class="card body">
          <Chart
            title="Waiting in each stage"
            times={times}
            format={formatCount}
            isCount
            series={Object.entries(load.queued).map(([name, values], i) => ({
              label: name,
              colour: lines[i % lines.length]!,
              values,
            }))}
          />
        </section>
        <section class="card body">
          <Chart
            title="Requests under way, and busy threads"
            times={times}
            format={formatCount}
            isCount
            series={[
              { label: 'requests', colour: colour.accent, values: load.requests },
              { label: 'threads', colour: colour.states[9]!, values: load.threads_busy },
            ]}
          />
        </section>
      </div>
      {last.draining && (
        <p class="note warn">
          Draining: {plural(computations.total, 'computation')} and{' '}
          {plural(last.requests ?? 0, 'request')} left. New work is refused.
        </p>
      )}
      <TableWrap isCard>
        <header>
          <h2>Stages</h2>
        </header>
        <table>
          <thead>
            <tr>
              <th>Stage</th>
              <th>Load</th>
              <th class="right">Waiting</th>
              <th>Lanes</th>
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
                <td class="soft">{lanesOf(queue)}</td>
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
      </TableWrap>
      <Work computations={computations} />
      <div class="columns">
        <Slowest load={load} />
        <Refusals load={load} />
      </div>
      {last.outcomes !== undefined && (
        <section class="card">
          <header>
            <h2>Requests by outcome</h2>
          </header>
          <dl class="pairs body">
            {Object.entries(last.outcomes).map(([outcome, count]) => (
              <Fragment key={outcome}>
                <dt>{outcome}</dt>
                <dd class="num">{formatCount(count)}</dd>
              </Fragment>
            ))}
          </dl>
        </section>
      )}
    </div>
  )
}

function Work({ computations }: { readonly computations: Computations }): JSX.Element {
  const { computations: all, total } = computations
  const tenants = byTenant(all)
  return (
    <TableCard
      title="Queued, running and set aside"
      side={
        <span class="quiet">
          {plural(total, 'computation')}
          {tenants.length > 1 &&
            `${total > all.length ? `, of the first ${all.length}` : ''}: ${tenants
              .slice(0, 5)
              .map(([tenant, count]) => `${count} of ${tenant}`)
              .join(', ')}`}
        </span>
      }
    >
      {all.length === 0 ? (
        <p class="empty">Nothing is queued or running.</p>
      ) : (
        <table>
          <thead>
            <tr>
              <th>Job</th>
              <th>State</th>
              <th>Tenant</th>
              <th class="right">Priority</th>
              <th class="right">Callers</th>
              <th class="right">Age</th>
              <th>Why it waits</th>
              <th>
                <span class="sr">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {all.slice(0, 100).map((each) => (
              <tr key={each.handle}>
                <td>
                  {each.job} <span class="quiet mono">{shortId(each.handle)}</span>
                </td>
                <td>
                  <StateDot state={marks[each.state]} text={each.state.replace('_', ' ')} />
                </td>
                <td class="soft">{each.tenant}</td>
                <td class="right">{each.priority}</td>
                <td class="right">{formatCount(each.waiting)}</td>
                <td class="right nowrap">
                  {each.age_ms === undefined ? '–' : formatDuration(each.age_ms)}
                </td>
                <td class="soft">{each.waits_for ?? '–'}</td>
                <td class="right">{may('operator') && <CancelButton computation={each} />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </TableCard>
  )
}

const marks: Readonly<Record<Computation['state'], string>> = {
  looking: 'ready',
  queued: 'waiting',
  preparing: 'running',
  making: 'running',
  waiting: 'waiting',
  set_aside: 'blocked',
}

function CancelButton({ computation }: { readonly computation: Computation }): JSX.Element {
  const { handle, job, waiting } = computation
  const cancel = (): void =>
    ask({
      title: 'Cancel this computation?',
      consequence: `${plural(waiting, 'caller')} of ${job} get an error instead of a result. It cannot be undone.`,
      verb: 'Cancel the computation',
      isDangerous: true,
      run: async () => {
        await call('DELETE /computations/:handle', { params: { handle } })
        return 'The computation is cancelled.'
      },
    })
  return (
    <button
      class="button plain small"
      type="button"
      aria-label={`Cancel ${job} ${shortId(handle)}`}
      onClick={cancel}
    >
      Cancel
    </button>
  )
}

function Oldest({ computations }: { readonly computations: readonly Computation[] }): JSX.Element {
  const oldest = oldestWaiting(computations)
  if (oldest === undefined) return <Figure title="Oldest waiting" value="–" note="nothing waits" />
  return (
    <Figure title="Oldest waiting" value={formatDuration(oldest.age_ms ?? 0)} note={oldest.job} />
  )
}

function Slowest({ load }: { readonly load: LoadView }): JSX.Element {
  return (
    <TableCard title="Slowest" side={<span class="quiet">of the last ten minutes</span>}>
      {load.slowest.length === 0 ? (
        <p class="empty">Nothing has ended in the last ten minutes.</p>
      ) : (
        <table>
          <thead>
            <tr>
              <th>Ended</th>
              <th>Job</th>
              <th>Outcome</th>
              <th class="right">Took</th>
            </tr>
          </thead>
          <tbody>
            {load.slowest.slice(0, 10).map((each, index) => (
              <tr key={index}>
                <td class="num nowrap soft">{formatDateTime(each.at)}</td>
                <td>{each.job}</td>
                <td>
                  <StateDot
                    state={each.ok ? 'succeeded' : 'failed'}
                    text={each.ok ? 'done' : 'no result'}
                  />
                </td>
                <td class="right nowrap">{formatDuration(each.ms)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </TableCard>
  )
}

function Refusals({ load }: { readonly load: LoadView }): JSX.Element {
  if (load.refusals.length === 0) {
    return (
      <TableCard title="Last refusals">
        <p class="empty">No request was refused since the server started.</p>
      </TableCard>
    )
  }
  return (
    <TableCard
      title="Last refusals"
      side={<span class="quiet">{formatCount(load.refused_total)} since the server started</span>}
    >
      <table>
        <thead>
          <tr>
            <th>When</th>
            <th>Request</th>
            <th class="right">Status</th>
            <th class="right">Retry-After</th>
          </tr>
        </thead>
        <tbody>
          {load.refusals.slice(0, 20).map((refusal, index) => (
            <tr key={index}>
              <td class="num nowrap soft">{formatDateTime(refusal.at)}</td>
              <td class="mono">{refusal.route}</td>
              <td class="right">{refusal.status}</td>
              <td class="right">
                {refusal.retry_after_s === null ? '–' : `${refusal.retry_after_s} s`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableCard>
  )
}

function reasonsOf({ rejectedBy, rejected }: QueueHealth): string {
  if (rejected === 0) return 'none'
  return Object.entries(rejectedBy)
    .filter(([, count]) => count > 0)
    .map(([reason, count]) => `${formatCount(count)} ${reason}`)
    .join(', ')
}
