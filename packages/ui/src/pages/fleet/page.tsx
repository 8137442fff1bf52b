/** The machines of the fleet: which are there, their work, why they get nothing. */
import { Fragment, type JSX } from 'preact'
import { address, setQuery } from '../../app/address.ts'
import { usePoll } from '../../app/poll.ts'
import { link } from '../../app/route.ts'
import { serverUrl } from '../../api/client.ts'
import { readFleet, type FleetSummary, type FleetWorker } from '../../api/fleet.ts'
import { Figure } from '../../parts/figure.tsx'
import { formatBytes, formatCount, formatDuration, formatRate, plural } from '../../parts/format.ts'
import { Empty, Failed, Loading } from '../../parts/placeholders.tsx'
import { SearchField } from '../../parts/search-field.tsx'
import { State } from '../../parts/state.tsx'
import { TableCard } from '../../parts/table.tsx'
import { stateOfWorker, sumByReason } from './workers.ts'
import { Servers } from './servers.tsx'

/** Milliseconds. */
const interval = 2_000

export function FleetPage(): JSX.Element {
  const { value, error, reload } = usePoll(readFleet, interval, [])
  return (
    <main class="page" id="content" tabIndex={0}>
      <div class="page-head">
        <div>
          <h1>Fleet</h1>
          <p>Workers claim leases from this server and report what they have done.</p>
        </div>
      </div>
      {error !== undefined && <Failed error={error} onRetry={reload} />}
      {value === undefined ? (
        error === undefined && <Loading />
      ) : (
        <div class="stack">
          <Figures summary={value} />
          <Servers />
          {value.list.length === 0 ? <NoWorkers summary={value} /> : <Workers summary={value} />}
          <Closed summary={value} />
        </div>
      )}
    </main>
  )
}

function Figures({ summary }: { readonly summary: FleetSummary }): JSX.Element {
  const { closed } = summary
  const reclaimed = sumByReason(closed, ['stale', 'no_progress'])
  const speed = summary.list
    .filter(({ work }) => work.length > 0)
    .reduce((sum, { units_per_second: each = 0 }) => sum + each, 0)
  return (
    <dl class="figures">
      <Figure
        title="Workers"
        value={formatCount(summary.workers)}
        note={`${formatCount(summary.active)} at work`}
      />
      <Figure
        title="Leases"
        value={formatCount(summary.held)}
        note={`${formatCount(summary.offered)} offered`}
      />
      <Figure
        title="Jobs that wait"
        value={formatCount(summary.jobs_waiting)}
        note="for a worker"
      />
      <Figure title="Units a second" value={formatRate(speed)} note="of workers at work" />
      <Figure
        title="Reclaimed"
        value={formatCount(reclaimed)}
        note={`of ${formatCount(summary.granted)} leases`}
      />
    </dl>
  )
}

function NoWorkers({ summary }: { readonly summary: FleetSummary }): JSX.Element {
  return (
    <Empty
      title={
        summary.workers === 0 ? 'No worker has connected yet' : 'No worker of your tenant is here'
      }
    >
      <p>A worker needs a token with the scope “worker” and a module with the jobs.</p>
      <pre class="code wrap">{`npx heddle tokens add my-worker --scope worker
npx heddle work --server ${serverUrl} --token … --jobs jobs.ts`}</pre>
    </Empty>
  )
}

const filters = [
  ['', 'All'],
  ['working', 'Working'],
  ['idle', 'Idle'],
  ['silent', 'Silent'],
] as const

function Workers({ summary }: { readonly summary: FleetSummary }): JSX.Element {
  const { state = '', q = '' } = address.value.query
  const wanted = q.toLowerCase()
  const shown = summary.list.filter(
    (worker) =>
      (state === '' || stateOfWorker(worker) === state) &&
      (wanted === '' || `${worker.name} ${worker.owner}`.toLowerCase().includes(wanted)),
  )
  return (
    <TableCard
      title="Workers"
      side={
        <>
          <nav class="segmented" aria-label="State of workers">
            {filters.map(([value, title]) => (
              <a
                key={value}
                href={link(['fleet'], { ...address.value.query, state: value })}
                aria-current={state === value ? 'true' : undefined}
              >
                {title}
              </a>
            ))}
          </nav>
          <SearchField
            label="Search workers"
            placeholder="Name or owner"
            value={q}
            onChange={(text) => setQuery({ q: text })}
          />
        </>
      }
    >
      <table>
        <thead>
          <tr>
            <th>Worker</th>
            <th>State</th>
            <th>Last contact</th>
            <th>Works on</th>
            <th class="right">Units a second</th>
            <th>Machine</th>
            <th>Jobs</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((worker) => (
            <WorkerRow key={worker.worker} worker={worker} />
          ))}
        </tbody>
      </table>
      {shown.length === 0 && <p class="empty">No worker fits the filter.</p>}
      {summary.list.length < summary.workers && (
        <p class="quiet table-note">
          {formatCount(summary.list.length)} of {plural(summary.workers, 'worker')} are listed.
        </p>
      )}
    </TableCard>
  )
}

const marks = { working: 'running', idle: 'waiting', silent: 'interrupted' } as const

function WorkerRow({ worker }: { readonly worker: FleetWorker }): JSX.Element {
  const state = stateOfWorker(worker)
  return (
    <tr>
      <td>
        <b>{worker.name}</b>
        <div class="quiet">{worker.owner}</div>
      </td>
      <td>
        <State state={marks[state]} text={state} />
        {worker.is_suspect && <div class="warn-text">failed in several campaigns</div>}
      </td>
      <td class="nowrap num">{formatDuration(worker.seen_ms_ago)} ago</td>
      <td>
        {worker.work.length === 0 ? (
          <span class="soft">{worker.why_idle ?? 'is not asking for work now'}</span>
        ) : (
          <Leases worker={worker} />
        )}
      </td>
      <td class="right">
        {worker.units_per_second === undefined ? '–' : formatRate(worker.units_per_second)}
      </td>
      <td class="soft">
        {worker.system}, {plural(worker.threads, 'thread')}, {formatBytes(worker.memory * 1e6)}
        {worker.capabilities.length > 0 && (
          <div class="quiet">{worker.capabilities.join(', ')}</div>
        )}
      </td>
      <td class="soft">
        {worker.jobs.slice(0, 3).map((job) => (
          <div key={job.name} class="nowrap">
            <span class="mono">{job.name}</span> {job.version}
          </div>
        ))}
        {worker.jobs.length > 3 && <div class="quiet">and {worker.jobs.length - 3} more</div>}
      </td>
    </tr>
  )
}

function Leases({ worker }: { readonly worker: FleetWorker }): JSX.Element {
  const [first, ...rest] = worker.work
  return (
    <>
      {first!.of === null ? (
        <span class="mono">{first!.lease}</span>
      ) : (
        <a href={link(['campaigns', first!.of])}>
          campaign, lease {first!.lease.split(/\W/).at(-1)}
        </a>
      )}
      <div class="quiet num">
        {first!.size > 1 && `${formatCount(first!.done)} of ${formatCount(first!.size)} units`}
        {rest.length > 0 && ` and ${rest.length} more`}
      </div>
    </>
  )
}

function Closed({ summary }: { readonly summary: FleetSummary }): JSX.Element | null {
  const reasons = Object.entries(summary.closed).filter(([, count]) => count > 0)
  if (reasons.length === 0) return null
  return (
    <section class="card">
      <header>
        <h2>Leases that ended, by reason</h2>
      </header>
      <dl class="pairs body">
        {reasons.map(([reason, count]) => (
          <Fragment key={reason}>
            <dt>{reason.replaceAll('_', ' ')}</dt>
            <dd class="num">{formatCount(count)}</dd>
          </Fragment>
        ))}
      </dl>
    </section>
  )
}
