/** This run beside another one: what got slower, what changed, what that did to the whole. */
import { useSignal } from '@preact/signals'
import { Fragment, type JSX } from 'preact'
import { address, setQuery } from '../../app/address.ts'
import type { RunComparison, RunSummary } from '../../api/contract.ts'
import { compareRuns, listRuns } from '../../api/runs.ts'
import { Figure } from '../../parts/figure.tsx'
import {
  formatAge,
  formatDistance,
  formatCount,
  formatDuration,
  formatPercent,
  plural,
  shortId,
} from '../../parts/format.ts'
import { Failed, Loading } from '../../parts/placeholders.tsx'
import { useResource } from '../../parts/resource.ts'
import { State, StateDot } from '../../parts/state.tsx'
import { TableWrap } from '../../parts/table.tsx'
import { browserClock } from '../../kernel/clock.ts'
import type { RunView } from './run-view.ts'

export function CompareTab({ view }: { readonly view: RunView }): JSX.Element {
  const other = address.value.query['with']
  return other === undefined ? (
    <Choose view={view} />
  ) : (
    <Comparison key={other} view={view} other={other} />
  )
}

function Choose({ view }: { readonly view: RunView }): JSX.Element {
  const title = view.store.head.value?.title ?? ''
  const isAll = useSignal(false)
  const { value, error, reload } = useResource(
    (signal) => listRuns({ limit: 50, ...(!isAll.value && title !== '' && { q: title }) }, signal),
    [isAll.value],
  )
  const runs = value?.runs.filter((run) => run.id !== view.store.id)
  return (
    <div class="tab-page stack">
      <div class="row">
        <h2 class="grow">Compare with which run?</h2>
        <label class="row">
          <input
            type="checkbox"
            checked={isAll.value}
            onChange={(event) => (isAll.value = event.currentTarget.checked)}
          />
          Include runs with other titles
        </label>
      </div>
      {error !== undefined && <Failed error={error} onRetry={reload} />}
      {runs === undefined ? (
        <Loading />
      ) : runs.length === 0 ? (
        <p class="quiet">There is no other run of {title}.</p>
      ) : (
        <TableWrap isCard>
          <table>
            <tbody>
              {runs.map((run) => (
                <Choice key={run.id} run={run} />
              ))}
            </tbody>
          </table>
        </TableWrap>
      )}
    </div>
  )
}

function Choice({ run }: { readonly run: RunSummary }): JSX.Element {
  return (
    <tr class="link" onClick={() => setQuery({ with: run.id })}>
      <td class="narrow">
        <State state={run.outcome} />
      </td>
      <td>
        <button class="node-name" type="button" onClick={() => setQuery({ with: run.id })}>
          {run.title} <span class="quiet mono">{shortId(run.id)}</span>
        </button>
      </td>
      <td class="soft">{formatAge(run.started_at, browserClock.wallTime())}</td>
      <td class="right nowrap">{run.elapsed_ms === null ? '' : formatDuration(run.elapsed_ms)}</td>
    </tr>
  )
}

function Comparison({
  view,
  other,
}: {
  readonly view: RunView
  readonly other: string
}): JSX.Element {
  const { value, error, reload } = useResource(
    (signal) => compareRuns(view.store.id, other, signal),
    [other],
  )
  if (value === undefined)
    return (
      <div class="tab-page">
        {error === undefined ? <Loading /> : <Failed error={error} onRetry={reload} />}
      </div>
    )
  return (
    <div class="tab-page stack">
      <div class="row">
        <h2 class="grow">
          Against <span class="mono">{shortId(other)}</span>,{' '}
          {formatDistance(value.before.started_at, value.now.started_at)}
        </h2>
        <button class="button small" type="button" onClick={() => setQuery({ with: undefined })}>
          Another run
        </button>
      </div>
      <dl class="figures">
        <Change title="Duration" change={value.total} />
        <Change title="Critical path" change={value.critical_path} />
        <Figure title="Nodes that took as long" value={value.same} />
      </dl>
      {value.limits.length > 0 && (
        <section class="card">
          <header>
            <h2>Limits</h2>
          </header>
          <dl class="pairs body">
            {value.limits.map(({ limit, before, now }) => (
              <Fragment key={limit}>
                <dt>{limit}</dt>
                <dd class="mono">
                  {JSON.stringify(before)} → {JSON.stringify(now)}
                </dd>
              </Fragment>
            ))}
          </dl>
        </section>
      )}
      <Changed view={view} comparison={value} />
      {value.outcomes.length > 0 && (
        <section class="card">
          <header>
            <h2>Other outcomes</h2>
          </header>
          <table>
            <tbody>
              {value.outcomes.map(({ node, before, now }) => (
                <tr key={node}>
                  <td>
                    <button class="node-name mono" type="button" onClick={() => view.select(node)}>
                      {node}
                    </button>
                  </td>
                  <td>
                    <StateDot state={before} />
                  </td>
                  <td>
                    <StateDot state={now} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {value.graph.length > 0 && (
        <section class="card">
          <header>
            <h2>Changes of the graph</h2>
          </header>
          <ul class="body">
            {value.graph.map(({ node, text }) => (
              <li key={`${node} ${text}`}>{text}</li>
            ))}
          </ul>
        </section>
      )}
    </div>
  )
}

function Change({
  title,
  change,
}: {
  readonly title: string
  readonly change: RunComparison['total']
}): JSX.Element {
  const word = change.change > 0 ? 'longer' : 'shorter'
  return (
    <Figure
      title={title}
      value={formatDuration(change.now)}
      note={
        <span class={change.change > 0 ? 'worse' : 'better'}>
          {Math.abs(change.change) < 1
            ? 'as before'
            : `${formatDuration(Math.abs(change.change))} ${word}${shareOf(change.percent)}`}
        </span>
      }
    />
  )
}

/** Ten times as long is not given in percent. */
function shareOf(percent: number | null): string {
  if (percent === null) return ''
  if (percent >= 1_000) return `, ${formatCount(1 + percent / 100)} times as long`
  return `, ${formatPercent(Math.abs(percent) / 100)}`
}

function Changed({
  view,
  comparison,
}: {
  readonly view: RunView
  readonly comparison: RunComparison
}): JSX.Element {
  const count = comparison.nodes.length + comparison.nodes_more
  if (count === 0) return <p class="note">No node took longer or shorter than before.</p>
  const bySize = comparison.nodes.toSorted((a, b) => Math.abs(b.change) - Math.abs(a.change))
  const largest = Math.max(1, Math.abs(bySize[0]?.change ?? 0))
  return (
    <section class="card">
      <header>
        <h2>{plural(count, 'node')} took longer or shorter</h2>
      </header>
      <TableWrap>
        <table>
          <thead>
            <tr>
              <th>Node</th>
              <th class="right">Before</th>
              <th class="right">Now</th>
              <th class="right">Change</th>
              <th class="wide" aria-label="Share of the largest change" />
            </tr>
          </thead>
          <tbody>
            {bySize.slice(0, 200).map(({ node, before, now, change }) => (
              <tr key={node} class="link" onClick={() => view.select(node)}>
                <td>
                  <button class="node-name mono" type="button" onClick={() => view.select(node)}>
                    {node}
                  </button>
                </td>
                <td class="right">{formatDuration(before)}</td>
                <td class="right">{formatDuration(now)}</td>
                <td class={`right ${change > 0 ? 'worse' : 'better'}`}>
                  {change > 0 ? '+' : '−'}
                  {formatDuration(Math.abs(change))}
                </td>
                <td class="wide">
                  <div class="change-bar" aria-hidden="true">
                    <i
                      class={change > 0 ? 'worse' : 'better'}
                      style={{ width: `${(Math.abs(change) / largest) * 100}%` }}
                    />
                  </div>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableWrap>
    </section>
  )
}
