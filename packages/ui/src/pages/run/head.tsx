/** The first lines of a run: its title, its state, the possible actions. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { useActions } from '../../app/actions.ts'
import { go } from '../../app/address.ts'
import { live } from '../../app/live-switch.tsx'
import { link } from '../../app/route.ts'
import { hrefOf } from '../../api/client.ts'
import { has } from '../../api/features.ts'
import type { RunHead } from '../../api/contract.ts'
import { may } from '../../api/session.ts'
import { searchActions } from '../../api/people.ts'
import { cancelRun, pauseRun, resumeRun } from '../../api/runs.ts'
import { ask } from '../../parts/confirm.tsx'
import { formatCount, formatDateTime, formatDuration, plural } from '../../parts/format.ts'
import { icons } from '../../parts/icons.tsx'
import { useNow } from '../../parts/now.ts'
import { useResource } from '../../parts/resource.ts'
import { Share } from '../../parts/share.tsx'
import { State } from '../../parts/state.tsx'
import { CopyButton } from '../../parts/copy.tsx'
import { Attention } from './attention.tsx'
import type { RunView } from './run-view.ts'

interface HeadProps {
  readonly view: RunView
  readonly head: RunHead
}

export function RunHeadLine({ view, head }: HeadProps): JSX.Element {
  const counts = view.at.value === undefined ? head.counts : view.counts()
  const path = head.critical_path
  const concurrency = concurrencyOf(head.options['concurrency'])
  return (
    <header class="run-head">
      <div class="row">
        <State state={head.outcome} />
        <h1 class="cut">{head.title}</h1>
        <span class="row quiet mono hide-small">
          {head.id}
          <CopyButton text={head.id} label="Copy the id of the run" />
        </span>
        <span class="grow" />
        <Actions view={view} head={head} />
      </div>
      <dl class="run-facts">
        <div>
          <dt>Nodes</dt>
          <dd>
            <Share counts={counts} total={head.nodes} />
          </dd>
        </div>
        <div>
          <dt>{head.ended_at === null ? 'Running for' : 'Took'}</dt>
          <dd class="num">
            <Elapsed view={view} />
          </dd>
        </div>
        <div>
          <dt>Critical path</dt>
          <dd class="num" title={path.nodes.map(({ name }) => name).join(' → ')}>
            {path.nodes.length === 0 ? (
              '–'
            ) : (
              // Sorted by slack: what made the run as long as it was comes first.
              <a href={link(['runs', head.id, 'nodes'], { sort: 'slack' })}>
                {formatDuration(path.length_ms)},{' '}
                {plural(path.nodes.length + path.left_out, 'node')}
              </a>
            )}
          </dd>
        </div>
        <div class="hide-small">
          <dt>Waited for permits</dt>
          <dd class="num">{formatDuration(head.queued_ms)}</dd>
        </div>
        <div class="hide-small">
          <dt>Attempts</dt>
          <dd class="num">{formatCount(Math.max(head.attempts, view.store.bars.count))}</dd>
        </div>
        <div class="hide-small">
          <dt>Started</dt>
          <dd class="num">{formatDateTime(head.started_at)}</dd>
        </div>
        {concurrency !== '' && (
          <div class="hide-small">
            <dt>Concurrency</dt>
            <dd class="num">{concurrency}</dd>
          </div>
        )}
        {head.args !== undefined && head.args !== null && (
          <div class="hide-small">
            <dt>Started with</dt>
            <dd class="mono cut args" title={JSON.stringify(head.args, undefined, 2)}>
              {JSON.stringify(head.args)}
            </dd>
          </div>
        )}
        {head.key !== null && (
          <div class="hide-small">
            <dt>Key</dt>
            <dd class="mono cut args" title={head.key}>
              {head.key}
            </dd>
          </div>
        )}
        <SteeredBy head={head} />
        {head.forked_from !== null && (
          <div>
            <dt>Retry of</dt>
            <dd>
              <a class="mono" href={link(['runs', head.forked_from])}>
                {head.forked_from}
              </a>
            </dd>
          </div>
        )}
      </dl>
      <Attention view={view} head={head} />
    </header>
  )
}

/** `8`, or `loop 6, thread 2`: as the run was given it. Empty when it had no limit of its own. */
function concurrencyOf(limit: unknown): string {
  if (typeof limit === 'number') return formatCount(limit)
  if (typeof limit !== 'object' || limit === null) return ''
  return Object.entries(limit)
    .map(([place, count]) => `${place} ${String(count)}`)
    .join(', ')
}

const steering: Readonly<Record<string, string>> = {
  paused: 'run paused',
  cancelled: 'run cancelled',
}

/** Who paused or cancelled the run over this server, from its log of actions. */
function SteeredBy({ head: { id, outcome } }: { readonly head: RunHead }): JSX.Element | null {
  const action = has('GET /actions') && may('operator') ? steering[outcome] : undefined
  const { value } = useResource(
    async (ending) => {
      if (action === undefined) return undefined
      return (await searchActions({ target: id, action, limit: 1 }, ending)).actions[0]
    },
    [id, action],
  )
  if (action === undefined || value === undefined) return null
  return (
    <div>
      <dt>{outcome === 'paused' ? 'Paused by' : 'Cancelled by'}</dt>
      <dd title={formatDateTime(value.at)}>
        <a href={link(['audit'], { target: id })}>{value.by}</a>{' '}
        <span class="quiet mono hide-small">{value.address}</span>
      </dd>
    </div>
  )
}

function Elapsed({ view }: { readonly view: RunView }): JSX.Element {
  void useNow(view.store.isLive)
  return <>{formatDuration(view.elapsed)}</>
}

/** Who steers a run that this server does not run. */
const otherProcess = 'Another process runs it: steer it there, or with `heddle runs`.'

function Actions({ view, head }: HeadProps): JSX.Element {
  const isPaused = head.outcome === 'paused'
  const isLive = view.store.isLive
  const counts = head.counts as Readonly<Record<string, number | undefined>>
  const running = counts['running'] ?? 0
  const left = ['waiting', 'ready', 'retrying', 'suspended'].reduce(
    (sum, state) => sum + (counts[state] ?? 0),
    0,
  )
  const pause = (): void =>
    ask({
      title: 'Pause this run?',
      consequence: `${plural(running, 'attempt')} under way will finish. ${plural(left, 'node')} will not start until you resume the run.`,
      verb: 'Pause',
      run: async () => {
        await pauseRun(head.id)
        return 'The run is paused.'
      },
    })
  const resume = (): void =>
    ask({
      title: 'Resume this run?',
      consequence: `${plural(left, 'node')} may start as soon as there is a permit.`,
      verb: 'Resume',
      run: async () => {
        await resumeRun(head.id)
        return 'The run is resumed.'
      },
    })
  const cancel = (): void =>
    ask({
      title: 'Cancel this run?',
      consequence: `${plural(running, 'attempt')} under way may finish; ${left === 0 ? 'nothing else is left to start' : `${plural(left, 'node')} will not start`}. Results that are recorded stay, and the run can be resumed later.`,
      verb: 'Cancel the run',
      isDangerous: true,
      run: async () => {
        await cancelRun(head.id, false)
        return 'The run is being cancelled.'
      },
    })
  const again = (): void =>
    ask({
      title: 'Resume this run?',
      consequence: `Everything that did not succeed runs again: ${plural(head.nodes - (counts['succeeded'] ?? 0), 'node')}. Results that are recorded are kept.`,
      verb: 'Resume',
      run: async () => {
        await resumeRun(head.id)
        live.follow(view.follow)
        return 'The run continues.'
      },
    })
  const canContinue =
    ['failed', 'cancelled', 'interrupted'].includes(head.outcome) &&
    has('POST /runs/{id}/resume') &&
    may('operator') &&
    head.graph !== null
  const isSteerable = head.is_steerable && may('operator')
  const [verb, toggle] = isPaused ? (['Resume', resume] as const) : (['Pause', pause] as const)
  useActions(
    isLive && isSteerable
      ? [
          { id: 'pause', key: 'p', title: `${verb} the run`, group: 'Run', run: toggle },
          { id: 'cancel', key: 'q', title: 'Cancel the run', group: 'Run', run: cancel },
        ]
      : [],
    [isLive, isPaused, isSteerable, running, left],
  )
  return (
    <div class="row actions">
      {isLive && !head.is_steerable && <span class="quiet hide-small">{otherProcess}</span>}
      {isLive && isSteerable && (
        <>
          <button class="button" type="button" onClick={toggle}>
            {isPaused ? icons.play : icons.pause} {verb}
          </button>
          <button class="button danger" type="button" onClick={cancel}>
            {icons.stop} Cancel
          </button>
        </>
      )}
      {canContinue && (
        <button class="button" type="button" onClick={again}>
          {icons.retry} Resume
        </button>
      )}
      <ExportMenu id={head.id} />
    </div>
  )
}

const formats = [
  ['html', 'One HTML page', 'html'],
  ['test', 'Test that plays it again', 'test.ts'],
  ['trace', 'Chrome trace', 'json'],
  ['mermaid', 'Mermaid drawing', 'mmd'],
  ['rows', 'All rows of the journal', 'jsonl'],
  ['graph', 'Graph as JSON', 'json'],
] as const

function ExportMenu({ id }: { readonly id: string }): JSX.Element {
  const [isOpen, setOpen] = useState(false)
  return (
    <div
      class="menu"
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !isOpen) return
        event.stopPropagation()
        setOpen(false)
      }}
      onFocusOut={(event) => {
        if (!(event.currentTarget as HTMLElement).contains(event.relatedTarget as Node | null))
          setOpen(false)
      }}
    >
      <button
        class="button"
        type="button"
        aria-label="Export this run"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {icons.export} <span class="hide-small">Export</span>
      </button>
      {isOpen && (
        <ul class="menu-list">
          {formats.map(([format, title, extension]) => (
            <li key={format}>
              <a
                href={hrefOf(`/runs/${encodeURIComponent(id)}/export/${format}`)}
                download={`${id}.${extension}`}
              >
                {title}
              </a>
            </li>
          ))}
          <li>
            <a
              href={link(['runs', id, 'compare'])}
              onClick={() => {
                setOpen(false)
                go(link(['runs', id, 'compare']))
              }}
            >
              Compare with another run
            </a>
          </li>
        </ul>
      )}
    </div>
  )
}
