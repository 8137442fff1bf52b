/** The list of runs: filters in the address, live, pages on demand, actions on selected runs. */
import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { useKeys } from '../../app/actions.ts'
import { address, go, setQuery } from '../../app/address.ts'
import { live } from '../../app/live-switch.tsx'
import { link } from '../../app/route.ts'
import { activeOutcomes, type RunCounts, type RunSummary } from '../../api/contract.ts'
import { has } from '../../api/features.ts'
import { followRuns } from '../../api/follow.ts'
import { may } from '../../api/session.ts'
import { cancelRun, countRuns, listRuns, resumeRun, type RunListQuery } from '../../api/runs.ts'
import { ask } from '../../parts/confirm.tsx'
import {
  formatAge,
  formatCount,
  formatDateTime,
  formatDuration,
  plural,
  shortId,
} from '../../parts/format.ts'
import { icons } from '../../parts/icons.tsx'
import { Empty, Failed, Loading } from '../../parts/placeholders.tsx'
import { SearchField } from '../../parts/search-field.tsx'
import { Share } from '../../parts/share.tsx'
import { State } from '../../parts/state.tsx'
import { useNow } from '../../parts/now.ts'
import { TableWrap } from '../../parts/table.tsx'
import { askForRun } from './new-run.tsx'
import { takeIn, type RunFilter, type RunListState } from './list-store.ts'
import { cancellable, resumable, steerAll } from './steer-all.ts'

const filters = [
  ['', 'All'],
  ['active', 'Active'],
  ['succeeded', 'Succeeded'],
  ['failed', 'Failed'],
  ['cancelled', 'Cancelled'],
  ['interrupted', 'Interrupted'],
] as const

const pageSize = 50

export function RunList(): JSX.Element {
  const { state = '', q = '' } = address.value.query
  const filter = useMemo((): RunFilter => ({ state, q }), [state, q])
  const list = useSignal<RunListState | undefined>(undefined)
  const counts = useSignal<RunCounts | undefined>(undefined)
  const error = useSignal<unknown>(undefined)
  const isLoading = useSignal(false)
  const selected = useSignal<ReadonlySet<string>>(new Set())
  const current = useSignal(0)

  const load = useMemo(
    () => async (ending: AbortSignal) => {
      isLoading.value = true
      try {
        const [page, counted] = await Promise.all([
          listRuns({ ...named(filter), limit: pageSize }, ending),
          countRuns(ending),
        ])
        list.value = page
        counts.value = counted
        error.value = undefined
      } catch (problem) {
        if (!ending.aborted) error.value = problem
      } finally {
        isLoading.value = false
      }
    },
    [filter],
  )

  useEffect(() => {
    selected.value = new Set()
    const abort = new AbortController()
    const stop = live.follow(async ({ signal: ending, onState, onEvent }) => {
      // Everything once more at each start of the stream: events say only what changes from then on.
      await load(AbortSignal.any([ending, abort.signal]))
      for await (const change of followRuns(ending, (stateNow) => {
        onState(stateNow)
        const isAgain = list.peek() !== undefined || error.peek() !== undefined
        if (stateNow === 'open' && isAgain) void load(abort.signal)
      })) {
        onEvent()
        if (change === undefined || list.peek() === undefined) continue
        list.value = takeIn(list.peek()!, change.runs, change.removed, filter)
        const total = Object.values(change.counts).reduce<number>(
          (sum, each) => sum + (each ?? 0),
          0,
        )
        counts.value = { counts: change.counts, total }
      }
    })
    return () => {
      stop()
      abort.abort()
    }
  }, [load])

  const more = async (): Promise<void> => {
    const before = list.peek()
    if (before === undefined || before.next === null || isLoading.peek()) return
    isLoading.value = true
    try {
      const page = await listRuns({ ...named(filter), limit: pageSize, cursor: before.next })
      list.value = {
        runs: takeIn({ ...before, next: null }, page.runs, [], filter).runs,
        next: page.next,
      }
    } catch (problem) {
      error.value = problem
    } finally {
      isLoading.value = false
    }
  }

  const runs = list.value?.runs ?? []
  const canStart = has('POST /runs') && may('operator')
  const move = (by: number): void => {
    const now = list.peek()?.runs ?? []
    current.value = Math.max(0, Math.min(now.length - 1, current.peek() + by))
    document.querySelector(`[data-row="${current.peek()}"]`)?.scrollIntoView({ block: 'nearest' })
  }
  const open = (): void => {
    const run = list.peek()?.runs[current.peek()]
    if (run !== undefined) go(link(['runs', run.id]))
  }
  const toggle = (id: string): void => {
    const next = new Set(selected.peek())
    if (!next.delete(id)) next.add(id)
    selected.value = next
  }
  useKeys(
    [
      { keys: 'j', label: 'Next run', group: 'Runs', run: () => move(1) },
      { keys: 'k', label: 'Previous run', group: 'Runs', run: () => move(-1) },
      { keys: 'o', label: 'Open the run', group: 'Runs', run: open },
      {
        keys: 'x',
        label: 'Select the run',
        group: 'Runs',
        run: () => {
          const run = list.peek()?.runs[current.peek()]
          if (run !== undefined) toggle(run.id)
        },
      },
      ...(canStart
        ? [{ keys: 'n', label: 'Start a run', group: 'Runs', run: () => void askForRun() }]
        : []),
      {
        keys: 'f',
        label: 'Search runs',
        group: 'Runs',
        run: () => document.getElementById('run-search')?.focus(),
      },
    ],
    [canStart],
  )
  const chosen = runs.filter((run) => selected.value.has(run.id))
  const isFiltered = state !== '' || q !== ''
  return (
    <main class="page" id="content" tabIndex={0}>
      <div class="page-head">
        <div>
          <h1>Runs</h1>
          <p class="num">{counts.value === undefined ? ' ' : plural(counts.value.total, 'run')}</p>
        </div>
        {canStart && (
          <div class="row">
            {runs.some(resumable) && isFiltered && (
              <button class="button" type="button" onClick={() => askToResumeAll(filter)}>
                {icons.retry} Resume all that match
              </button>
            )}
            {runs.some(cancellable) && isFiltered && (
              <button class="button danger" type="button" onClick={() => askToCancelAll(filter)}>
                {icons.stop} Cancel all that match
              </button>
            )}
            <button class="button" type="button" onClick={() => void askForRun()}>
              {icons.play} Start a run
            </button>
          </div>
        )}
      </div>
      <div class="row list-tools">
        <nav class="segmented" aria-label="State of runs">
          {filters.map(([value, title]) => (
            <a
              key={value}
              href={link(['runs'], { ...address.value.query, state: value })}
              aria-current={state === value ? 'true' : undefined}
            >
              {title}
              <span class="count">{countOf(counts.value, value)}</span>
            </a>
          ))}
        </nav>
        <SearchField
          id="run-search"
          label="Search in titles, keys and ids"
          placeholder="Title, key or id"
          value={q}
          onChange={(text) => setQuery({ q: text })}
        />
        <span class="grow" />
        {chosen.length > 0 && may('operator') && (
          <Bulk runs={chosen} onDone={() => (selected.value = new Set())} />
        )}
      </div>
      {error.value !== undefined && (
        <Failed error={error.value} onRetry={() => void load(new AbortController().signal)} />
      )}
      {list.value === undefined ? (
        error.value === undefined && <Loading />
      ) : runs.length === 0 ? (
        <NoRuns isFiltered={isFiltered} />
      ) : (
        <TableWrap isCard>
          <table>
            <thead>
              <tr>
                <th class="check">
                  <span class="sr">Select</span>
                </th>
                <th>State</th>
                <th>Run</th>
                <th class="wide">Nodes</th>
                <th class="hide-small">Started</th>
                <th class="right">Took</th>
              </tr>
            </thead>
            <tbody>
              {runs.map((run, index) => (
                <RunRow
                  key={run.id}
                  run={run}
                  index={index}
                  isCurrent={index === current.value}
                  isSelected={selected.value.has(run.id)}
                  onToggle={() => toggle(run.id)}
                />
              ))}
            </tbody>
          </table>
        </TableWrap>
      )}
      {list.value !== undefined && list.value.next !== null && (
        <MoreRows isLoading={isLoading.value} onMore={() => void more()} />
      )}
    </main>
  )
}

function wordsOf({ state, q }: RunFilter): string {
  return [state, q === '' ? '' : `“${q}”`].filter((word) => word !== '').join(' and ')
}

function askToCancelAll(filter: RunFilter): void {
  ask({
    title: 'Cancel all runs that match the filter?',
    consequence: `Every active run that matches ${wordsOf(filter)} is cancelled, including those that are not listed yet. Attempts under way may finish; nothing new starts.`,
    verb: 'Cancel all of them',
    isDangerous: true,
    run: async () => {
      const { done, failed } = await steerAll({
        filter,
        isEligible: cancellable,
        list: listFor(filter),
        steer: (id) => cancelRun(id, false),
      })
      const rest = failed === 0 ? '' : ` ${failed} could not be cancelled.`
      return `Cancelling ${plural(done, 'run')}.${rest}`
    },
  })
}

function askToResumeAll(filter: RunFilter): void {
  ask({
    title: 'Resume all runs that match the filter?',
    consequence: `Every run that matches ${wordsOf(filter)}, did not succeed and was started from a graph of this server continues: only what did not succeed runs again. This includes runs that are not listed yet.`,
    verb: 'Resume all of them',
    run: async () => {
      const { done, failed } = await steerAll({
        filter,
        isEligible: resumable,
        list: listFor(filter),
        steer: resumeRun,
      })
      const rest = failed === 0 ? '' : ` ${failed} could not be resumed.`
      return `Resumed ${plural(done, 'run')}.${rest}`
    },
  })
}

function listFor(filter: RunFilter): Parameters<typeof steerAll>[0]['list'] {
  return (cursor, limit) =>
    listRuns({ ...named(filter), limit, ...(cursor !== undefined && { cursor }) })
}

/** The state comes from the address, which may contain anything: the server lists the known states. */
function named({ state, q }: RunFilter): Pick<RunListQuery, 'state' | 'q'> {
  return {
    ...(state !== '' && { state: state as NonNullable<RunListQuery['state']> }),
    ...(q !== '' && { q }),
  }
}

function countOf(counts: RunCounts | undefined, filter: string): string {
  if (counts === undefined) return ''
  const of = counts.counts as Readonly<Record<string, number | undefined>>
  if (filter === '') return formatCount(counts.total)
  if (filter === 'active') {
    return formatCount(activeOutcomes.reduce((sum, each) => sum + (of[each] ?? 0), 0))
  }
  return formatCount(of[filter] ?? 0)
}

interface RowProps {
  readonly run: RunSummary
  readonly index: number
  readonly isCurrent: boolean
  readonly isSelected: boolean
  readonly onToggle: () => void
}

function RunRow({ run, index, isCurrent, isSelected, onToggle }: RowProps): JSX.Element {
  const href = link(['runs', run.id])
  return (
    <tr
      class="link"
      data-row={index}
      aria-selected={isCurrent}
      onClick={(event) => {
        if ((event.target as HTMLElement).closest('a, input, label') === null) go(href)
      }}
    >
      <td class="check">
        <input
          type="checkbox"
          checked={isSelected}
          onChange={onToggle}
          aria-label={`Select ${run.title} ${run.id}`}
        />
      </td>
      <td>
        <State state={run.outcome} />
      </td>
      <td>
        <div class="run-name">
          <a href={href}>{run.title}</a>
          <span class="quiet mono hide-small">{shortId(run.id)}</span>
          {run.key !== null && <span class="chip mono">{run.key}</span>}
          {run.schedule !== null && <span class="chip">{run.schedule}</span>}
        </div>
      </td>
      <td class="wide">
        <Share counts={run.counts} total={run.nodes} />
      </td>
      <td class="nowrap soft hide-small">
        <Age at={run.started_at} />
      </td>
      <td class="right nowrap">
        <Took run={run} />
      </td>
    </tr>
  )
}

function Age({ at }: { readonly at: number }): JSX.Element {
  return <time title={formatDateTime(at)}>{formatAge(at, useNow())}</time>
}

function Took({ run }: { readonly run: RunSummary }): JSX.Element {
  const until = useNow()
  if (run.elapsed_ms !== null) return <>{formatDuration(run.elapsed_ms)}</>
  return run.outcome === 'interrupted' ? (
    <span class="quiet">–</span>
  ) : (
    <>{formatDuration(until - run.started_at)}</>
  )
}

/** The actions for the runs that were selected one by one. */
function Bulk({
  runs,
  onDone,
}: {
  readonly runs: readonly RunSummary[]
  readonly onDone: () => void
}): JSX.Element {
  const open = runs.filter(cancellable)
  const again = runs.filter(resumable)
  const steerEach = async (
    chosen: readonly RunSummary[],
    steer: (id: string) => Promise<unknown>,
    words: readonly [done: string, refused: string],
  ): Promise<string> => {
    const results = await Promise.allSettled(chosen.map((run) => steer(run.id)))
    const failed = results.filter((result) => result.status === 'rejected').length
    onDone()
    return failed === 0
      ? `${words[0]} ${plural(chosen.length, 'run')}.`
      : `${failed} of ${plural(chosen.length, 'run')} could not be ${words[1]}.`
  }
  const onCancel = (): void =>
    ask({
      title: `Cancel ${plural(open.length, 'run')}?`,
      consequence: `Attempts under way may finish; nothing new starts: ${titlesOf(open)}.`,
      verb: `Cancel ${plural(open.length, 'run')}`,
      isDangerous: true,
      run: () => steerEach(open, (id) => cancelRun(id, false), ['Cancelling', 'cancelled']),
    })
  const onResume = (): void =>
    ask({
      title: `Resume ${plural(again.length, 'run')}?`,
      consequence: `Only what did not succeed runs again: ${titlesOf(again)}.`,
      verb: `Resume ${plural(again.length, 'run')}`,
      run: () => steerEach(again, resumeRun, ['Resumed', 'resumed']),
    })
  return (
    <div class="row">
      <span class="soft num">{formatCount(runs.length)} selected</span>
      {again.length > 0 && (
        <button class="button" type="button" onClick={onResume}>
          {icons.retry} Resume
        </button>
      )}
      <button class="button danger" type="button" disabled={open.length === 0} onClick={onCancel}>
        {icons.stop} Cancel
      </button>
      {runs.length === 2 && (
        <a class="button" href={link(['runs', runs[0]!.id, 'compare'], { with: runs[1]!.id })}>
          Compare
        </a>
      )}
    </div>
  )
}

function titlesOf(runs: readonly RunSummary[]): string {
  const titles = runs.slice(0, 5).map((run) => run.title)
  return `${titles.join(', ')}${runs.length > titles.length ? ' …' : ''}`
}

function NoRuns({ isFiltered }: { readonly isFiltered: boolean }): JSX.Element {
  if (isFiltered) {
    return (
      <Empty title="No run matches the filter">
        <p>
          <a href={link(['runs'])}>Show all runs</a>
        </p>
      </Empty>
    )
  }
  if (has('POST /runs') && may('operator')) {
    return (
      <Empty title="No runs yet">
        <p>
          Start a graph of this server with the button above, or press <kbd>n</kbd>. A schedule
          starts runs at set times. Jobs that clients submit are on the page{' '}
          <a href={link(['jobs'])}>Jobs</a>.
        </p>
      </Empty>
    )
  }
  return (
    <Empty title="No runs yet">
      <p>A run appears here as soon as it starts.</p>
      <pre class="code">npx heddle run graph.ts</pre>
    </Empty>
  )
}

function MoreRows({
  isLoading,
  onMore,
}: {
  readonly isLoading: boolean
  readonly onMore: () => void
}): JSX.Element {
  return (
    <div class="more">
      <button class="button" type="button" disabled={isLoading} onClick={onMore}>
        {isLoading ? 'Loading…' : 'Load more'}
      </button>
    </div>
  )
}
