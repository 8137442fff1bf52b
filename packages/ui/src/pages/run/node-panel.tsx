/** The selected node: how it stands, why it waits, its attempts, log, result, neighbours. */
import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { link } from '../../app/route.ts'
import type { NodeDetail, NodeWord } from '../../api/contract.ts'
import { hrefOf } from '../../api/client.ts'
import { has } from '../../api/features.ts'
import { may } from '../../api/session.ts'
import { listArtifacts, readNode, retryNode, sendSignal, type Artifact } from '../../api/runs.ts'
import { Artifacts } from '../../parts/artifacts.tsx'
import { ask } from '../../parts/confirm.tsx'
import { CopyButton } from '../../parts/copy.tsx'
import { ErrorView } from '../../parts/error-view.tsx'
import { TextField } from '../../parts/field.tsx'
import { formatBytes, formatCount, formatDuration, formatTime, plural } from '../../parts/format.ts'
import { icons } from '../../parts/icons.tsx'
import { textOfLines } from '../../parts/log-view.tsx'
import { useNow } from '../../parts/now.ts'
import { parseTyped } from '../../parts/parse-typed.ts'
import { Failed, Loading } from '../../parts/placeholders.tsx'
import { SearchField } from '../../parts/search-field.tsx'
import { State, StateDot } from '../../parts/state.tsx'
import { RunLog, useLog } from './log.tsx'
import { useRefresh } from './refresh.ts'
import type { RunView } from './run-view.ts'

/** Lines of the log that are shown at once. */
const shownLines = 500

export function NodePanel({
  view,
  name,
}: {
  readonly view: RunView
  readonly name: string
}): JSX.Element {
  const detail = useSignal<NodeDetail | undefined>(undefined)
  const artifacts = useSignal<readonly Artifact[]>([])
  const node = view.store.nodes.indexOf.get(name)
  const { error, reload } = useRefresh(
    view,
    (signal) => async () => {
      detail.value = await readNode(view.store.id, name, signal)
      if (detail.value.attempts.length > 0 && has('GET /artifacts/{run}')) {
        artifacts.value = await listArtifacts(view.store.id, name, signal)
      }
    },
    [name],
  )
  const shown = detail.value
  const near = view.store.head.value?.started_at ?? 0
  const state = node === undefined ? (shown?.state ?? 'waiting') : view.stateOf(node)
  const progress =
    view.store.progress.get(name) ??
    (shown === undefined || shown.progress === null
      ? undefined
      : ([shown.progress.fraction, shown.progress.text] as const))
  return (
    <aside class="panel" aria-label={`Node ${name}`} tabIndex={-1}>
      <header>
        <div class="row">
          <State state={state} />
          <span class="grow" />
          <CopyButton text={name} label="Copy the name of the node" />
          <button
            class="button plain small"
            type="button"
            aria-label="Close the panel"
            onClick={() => view.select(undefined)}
          >
            {icons.close}
          </button>
        </div>
        <h2 class="mono">{name}</h2>
      </header>
      {error !== undefined && <Failed error={error} onRetry={reload} />}
      {shown === undefined ? (
        error === undefined && <Loading rows={8} />
      ) : (
        <div class="panel-body">
          {progress !== undefined && state === 'running' && (
            <Progress fraction={progress[0]} text={progress[1]} />
          )}
          {shown.waits !== null && view.at.value === undefined && (
            <Waits view={view} waits={shown.waits} />
          )}
          {shown.blocked_by !== null && (
            <p class="note">
              <span>
                Blocked because <NodeLink view={view} name={shown.blocked_by} /> failed.
              </span>
            </p>
          )}
          <Facts detail={shown} state={state} near={near} />
          <NodeActions view={view} detail={shown} />
          <Attempts detail={shown} state={state} near={near} />
          <Log view={view} node={name} total={shown.log_lines} />
          <Artifacts list={artifacts.value} />
          <Value title="Input" value={shown.input} />
          <Value
            title="Result"
            value={shown.result}
            href={hrefOf(
              `/runs/${encodeURIComponent(view.store.id)}/nodes/${encodeURIComponent(name)}/result`,
            )}
          />
          <Neighbours view={view} title="Depends on" names={shown.after} more={0} />
          <Neighbours view={view} title="Needed by" names={shown.before} more={shown.before_more} />
        </div>
      )}
    </aside>
  )
}

function Progress({
  fraction,
  text,
}: {
  readonly fraction: number
  readonly text: string | null
}): JSX.Element {
  return (
    <div class="progress">
      <progress max={1} value={fraction} aria-label="Progress" />
      <span class="num">{Math.round(fraction * 100)} %</span>
      {text !== null && <span class="soft cut">{text}</span>}
    </div>
  )
}

function Waits({
  view,
  waits,
}: {
  readonly view: RunView
  readonly waits: NonNullable<NodeDetail['waits']>
}): JSX.Element {
  const now = useNow(waits.until_at !== null)
  const left = waits.until_at === null ? undefined : waits.until_at - now
  return (
    <section class="note waits">
      <div class="grow">
        <b>Why is it waiting?</b>
        <p>{waits.text}</p>
        {left !== undefined && left > 0 && <p class="num">{formatDuration(left)} left</p>}
        {waits.kind !== 'suspended' && waits.on.length > 0 && (
          <p class="row">
            {waits.on.slice(0, 8).map((name) => (
              <NodeLink key={name} view={view} name={name} />
            ))}
            {waits.on.length + waits.more > 8 && (
              <span class="quiet">and {formatCount(waits.on.length + waits.more - 8)} more</span>
            )}
          </p>
        )}
      </div>
    </section>
  )
}

interface DetailProps {
  readonly detail: NodeDetail
  readonly state: NodeWord
  /** The start of the run: times of another day are shown with their day. */
  readonly near: number
}

function Facts({ detail, state, near }: DetailProps): JSX.Element {
  const isOpen = state === 'running' || state === 'suspended'
  const now = useNow(isOpen)
  // The server's figures end when it answered.
  const since = isOpen ? Math.max(0, now - (detail.attempts.at(-1)?.ended_at ?? now)) : 0
  const suspended = detail.attempts
    .flatMap((attempt) => attempt.suspended)
    .reduce((sum, [from, to]) => sum + to - from, state === 'suspended' ? since : 0)
  return (
    <dl class="pairs">
      <dt>Job</dt>
      <dd class="mono">{detail.job}</dd>
      <dt>Place</dt>
      <dd>{detail.place}</dd>
      {detail.started_at !== null && (
        <>
          <dt>Started</dt>
          <dd class="num">{formatTime(detail.started_at, near)}</dd>
        </>
      )}
      <dt>Ran</dt>
      <dd class="num">{formatDuration(detail.run_ms + since - suspended)}</dd>
      {suspended > 0 && (
        <>
          <dt>Suspended</dt>
          <dd class="num">{formatDuration(suspended)}</dd>
        </>
      )}
      <dt>Waited</dt>
      <dd class="num">{formatDuration(detail.queued_ms)}</dd>
      {detail.slack_ms !== null && (
        <>
          <dt>Slack</dt>
          <dd class="num">
            {detail.is_critical ? 'none: on the critical path' : formatDuration(detail.slack_ms)}
          </dd>
        </>
      )}
    </dl>
  )
}

function NodeActions({
  view,
  detail,
}: {
  readonly view: RunView
  readonly detail: NodeDetail
}): JSX.Element | null {
  const head = view.store.head.value
  const { name } = detail
  const isOver = !view.store.isLive
  const canRetry = isOver && head?.graph !== null && has('POST /runs/{id}/nodes/{name}/retry')
  const waitsForSignal =
    detail.state === 'suspended' && detail.waits?.kind === 'suspended' && detail.waits.on.length > 0
  if (!may('operator') || (!canRetry && !waitsForSignal)) return null
  const retry = (): void =>
    ask({
      title: `Retry from ${name}?`,
      consequence: `A new run starts. It runs ${name} and everything that depends on it again (${plural(detail.before.length + detail.before_more, 'direct dependent')}), and takes the other results over. This run stays as it is.`,
      verb: 'Retry',
      run: async () => {
        const { run } = await retryNode(view.store.id, name)
        return { text: 'The new run has started.', to: link(['runs', run]) }
      },
    })
  return (
    <div class="row">
      {canRetry && (
        <button class="button" type="button" onClick={retry}>
          {icons.retry} Retry from here
        </button>
      )}
      {waitsForSignal &&
        detail.waits!.on.map((signal) => (
          <SignalButtons key={signal} view={view} signal={signal} node={name} />
        ))}
    </div>
  )
}

function SignalButtons({
  view,
  signal,
  node,
}: {
  readonly view: RunView
  readonly signal: string
  readonly node: string
}): JSX.Element {
  const send = (title: string, sent: () => unknown, fields?: JSX.Element): void =>
    ask({
      title,
      consequence: `${node} waits for the signal “${signal}” and continues with what you send. It cannot be taken back.`,
      verb: 'Send',
      fields,
      run: async () => {
        await sendSignal(view.store.id, signal, sent())
        return `The signal is sent; ${node} continues with it.`
      },
    })
  return (
    <>
      <button
        class="button primary"
        type="button"
        onClick={() => send(`Approve ${signal}?`, () => true)}
      >
        Approve
      </button>
      <button class="button" type="button" onClick={() => send(`Refuse ${signal}?`, () => false)}>
        Refuse
      </button>
      <button
        class="button plain"
        type="button"
        onClick={() => {
          const typed = { value: '' }
          send(
            `Send ${signal}`,
            () => parseTyped(typed.value, 'The value'),
            <TextField title="Value, as JSON" into={typed} name="value" type="json" />,
          )
        }}
      >
        Send a value…
      </button>
    </>
  )
}

function Attempts({ detail, state, near }: DetailProps): JSX.Element | null {
  const isOpen = detail.attempts.at(-1)?.outcome === 'running'
  const now = useNow(isOpen)
  if (detail.attempts.length === 0) return null
  return (
    <section>
      <h3>{plural(detail.attempts.length, 'attempt')}</h3>
      <ol class="attempts">
        {detail.attempts.toReversed().map((attempt) => (
          <li key={attempt.number} class={attempt.outcome}>
            <div class="row">
              <AttemptMark attempt={attempt} state={state} />
              <span class="grow" />
              <span class="num quiet">
                {formatTime(attempt.started_at, near)},{' '}
                {formatDuration(endOf(attempt, now) - attempt.started_at)}
              </span>
            </div>
            {attempt.error !== undefined && <ErrorView error={attempt.error} />}
          </li>
        ))}
      </ol>
    </section>
  )
}

type AttemptDetail = NodeDetail['attempts'][number]

function endOf({ outcome, ended_at: end }: AttemptDetail, now: number): number {
  return outcome === 'running' ? Math.max(end, now) : end
}

/** An attempt under way is as its node is: running or suspended. */
function AttemptMark({
  attempt: { number, outcome },
  state,
}: {
  readonly attempt: AttemptDetail
  readonly state: NodeWord
}): JSX.Element {
  const word = outcome === 'running' && state === 'suspended' ? state : outcome
  return <StateDot state={word} text={`${number}. ${word}`} />
}

function Log({
  view,
  node,
  total,
}: {
  readonly view: RunView
  readonly node: string
  readonly total: number
}): JSX.Element | null {
  const query = useSignal('')
  const { found, error, reload } = useLog(view, { node, q: query.value })
  if (error !== undefined) return <Failed error={error} onRetry={reload} />
  if (found === undefined || (total === 0 && found.lines.length === 0)) return null
  return (
    <section>
      <div class="row">
        <h3 class="grow">Log, {plural(Math.max(total, found.lines.length), 'line')}</h3>
        <SearchField
          label="Search the log"
          placeholder="Search"
          value={query.value}
          onChange={(text) => (query.value = text)}
        />
        <CopyButton text={() => textOfLines(found.lines)} label="Copy the lines" />
      </div>
      {found.lines.length === 0 ? (
        <p class="quiet">No line contains “{query.value}”.</p>
      ) : (
        <RunLog view={view} log={found} label="Log" most={shownLines} />
      )}
    </section>
  )
}

function Value({
  title,
  value,
  href,
}: {
  readonly title: string
  readonly value: NodeDetail['input']
  /** Where all of it is. */
  readonly href?: string
}): JSX.Element | null {
  if (value.bytes === null) return null
  const text =
    value.json === undefined ? (value.head ?? '') : JSON.stringify(value.json, undefined, 2)
  return (
    <section>
      <div class="row">
        <h3 class="grow">
          {title}, {value.is_cut === true && 'the first '}
          {formatBytes(value.bytes)}
        </h3>
        {value.json === undefined && href !== undefined && (
          <a class="button small" href={href} target="_blank" rel="noreferrer">
            Open all of it
          </a>
        )}
        <CopyButton
          text={text}
          label={
            value.json === undefined
              ? `Copy the beginning of the ${title.toLowerCase()}`
              : `Copy the ${title.toLowerCase()}`
          }
        />
      </div>
      <pre class="code wrap" tabIndex={0} aria-label={title}>
        {text}
        {value.json === undefined && '…'}
      </pre>
    </section>
  )
}

interface NeighboursProps {
  readonly view: RunView
  readonly title: string
  readonly names: readonly string[]
  readonly more: number
}

function Neighbours({ view, title, names, more }: NeighboursProps): JSX.Element | null {
  if (names.length === 0) return null
  const shown = names.slice(0, 30)
  const left = names.length - shown.length + more
  return (
    <section>
      <h3>
        {title} {formatCount(names.length + more)}
      </h3>
      <ul class="neighbours">
        {shown.map((name) => (
          <li key={name}>
            <NodeLink view={view} name={name} />
          </li>
        ))}
        {left > 0 && <li class="quiet">and {formatCount(left)} more</li>}
      </ul>
    </section>
  )
}

function NodeLink({ view, name }: { readonly view: RunView; readonly name: string }): JSX.Element {
  const node = view.store.nodes.indexOf.get(name)
  return (
    <button class="chip" type="button" onClick={() => view.select(name)}>
      <StateDot state={node === undefined ? 'waiting' : view.stateOf(node)} text={name} />
    </button>
  )
}
