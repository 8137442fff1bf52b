/** The selected node: how it stands, why it waits, its attempts, log, result, neighbours. */
import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { link } from '../../app/route.ts'
import type { LogPage, NodeDetail, NodeWord } from '../../api/contract.ts'
import { has } from '../../api/features.ts'
import { may } from '../../api/session.ts'
import {
  listArtifacts,
  readLog,
  readNode,
  retryNode,
  sendSignal,
  type Artifact,
} from '../../api/runs.ts'
import { browserClock } from '../../kernel/clock.ts'
import { Throttle } from '../../kernel/throttle.ts'
import { Artifacts } from '../../parts/artifacts.tsx'
import { ask } from '../../parts/confirm.tsx'
import { CopyButton } from '../../parts/copy.tsx'
import { ErrorView } from '../../parts/error-view.tsx'
import { TextField } from '../../parts/field.tsx'
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatTime,
  formatTimeExactly,
  plural,
} from '../../parts/format.ts'
import { icons } from '../../parts/icons.tsx'
import { useNow } from '../../parts/now.ts'
import { parseTyped } from '../../parts/json.ts'
import { Failed, Loading } from '../../parts/placeholders.tsx'
import { State, StateDot } from '../../parts/state.tsx'
import type { RunView } from './view.ts'

/** Milliseconds between two readings while the node changes. */
const refreshInterval = 700
const mostLines = 5_000

export function NodePanel({
  view,
  name,
}: {
  readonly view: RunView
  readonly name: string
}): JSX.Element {
  const detail = useSignal<NodeDetail | undefined>(undefined)
  const error = useSignal<unknown>(undefined)
  const log = useSignal<LogPage['lines']>([])
  const artifacts = useSignal<readonly Artifact[]>([])
  const refresh = useRef<Throttle | undefined>(undefined)
  const node = view.store.nodes.indexOf.get(name)
  useEffect(() => {
    const abort = new AbortController()
    let after = 0
    const throttle = new Throttle(
      async () => {
        try {
          detail.value = await readNode(view.store.id, name, abort.signal)
          error.value = undefined
          if (detail.value.attempts.length > 0 && has('GET /artifacts/{run}')) {
            artifacts.value = await listArtifacts(view.store.id, name, abort.signal)
          }
          for (let page: LogPage | undefined; page === undefined || page.next !== null;) {
            page = await readLog(view.store.id, { node: name, after }, abort.signal)
            after = page.next ?? page.position
            if (page.lines.length > 0) log.value = [...log.peek(), ...page.lines].slice(-mostLines)
          }
        } catch (problem) {
          if (!abort.signal.aborted) error.value = problem
        }
      },
      refreshInterval,
      browserClock,
    )
    refresh.current = throttle
    throttle.call()
    return () => {
      abort.abort()
      throttle.stop()
    }
  }, [name])
  const version = view.store.version.value
  // The change that ends the run counts too: it is the last one to change the node.
  const wasLive = useRef(view.store.isLive)
  useEffect(() => {
    const { isLive } = view.store
    if (isLive || wasLive.current) refresh.current?.call()
    wasLive.current = isLive
  }, [version])

  const shown = detail.value
  const state = node === undefined ? (shown?.state ?? 'waiting') : view.stateOf(node)
  const progress =
    view.store.progress.get(name) ??
    (shown === undefined || shown.progress === null
      ? undefined
      : ([shown.progress.fraction, shown.progress.text] as const))
  return (
    <aside class="panel" aria-label={`Node ${name}`}>
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
      {error.value !== undefined && (
        <Failed error={error.value} onRetry={() => refresh.current?.call()} />
      )}
      {shown === undefined ? (
        error.value === undefined && <Loading rows={8} />
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
          <Facts detail={shown} state={state} />
          <NodeActions view={view} detail={shown} />
          <Attempts detail={shown} state={state} />
          <Log lines={log.value} total={shown.log_lines} />
          <Artifacts list={artifacts.value} />
          <Value title="Input" value={shown.input} />
          <Value title="Result" value={shown.result} />
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
}

function Facts({ detail, state }: DetailProps): JSX.Element {
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
          <dd class="num">{formatTime(detail.started_at)}</dd>
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

function Attempts({ detail, state }: DetailProps): JSX.Element | null {
  const isOpen = detail.attempts.at(-1)?.outcome === 'running'
  const now = useNow(isOpen)
  if (detail.attempts.length === 0) return null
  return (
    <section>
      <h3>{plural(detail.attempts.length, 'attempt')}</h3>
      <ol class="attempts">
        {detail.attempts.toReversed().map((attempt) => (
          <li key={attempt.number}>
            <div class="row">
              <AttemptMark attempt={attempt} state={state} />
              <span class="grow" />
              <span class="num quiet">
                {formatTime(attempt.started_at)},{' '}
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
  lines,
  total,
}: {
  readonly lines: LogPage['lines']
  readonly total: number
}): JSX.Element | null {
  const query = useSignal('')
  if (total === 0 && lines.length === 0) return null
  const wanted = query.value.toLowerCase()
  const shown =
    wanted === '' ? lines : lines.filter((line) => line.text.toLowerCase().includes(wanted))
  const text = shown.map((line) => line.text).join('\n')
  return (
    <section>
      <div class="row">
        <h3 class="grow">Log, {plural(total, 'line')}</h3>
        <label class="search">
          {icons.search}
          <span class="sr">Search the log</span>
          <input
            class="input"
            type="search"
            placeholder="Search"
            value={query.value}
            onInput={(event) => (query.value = event.currentTarget.value)}
          />
        </label>
        <CopyButton text={text} label="Copy the lines" />
      </div>
      <pre class="code log" tabIndex={0} aria-label="Log">
        {shown.slice(-500).map((line) => (
          <div key={line.position}>
            <time class="quiet">{formatTimeExactly(line.at)}</time> {line.text}
          </div>
        ))}
      </pre>
      {shown.length > 500 && <p class="quiet">The last 500 of {plural(shown.length, 'line')}.</p>}
    </section>
  )
}

function Value({
  title,
  value,
}: {
  readonly title: string
  readonly value: NodeDetail['input']
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
        <CopyButton text={text} label={`Copy the ${title.toLowerCase()}`} />
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
