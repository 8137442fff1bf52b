/** What a reader of a run looks for first: what failed and why, which approval is missing, and that no process runs it any more. */
import type { JSX } from 'preact'
import { link } from '../../app/route.ts'
import type { RunHead } from '../../api/contract.ts'
import { stateCode } from '../../api/contract.ts'
import { formatCount } from '../../parts/format.ts'
import { withoutEscapes } from '../../parts/log-text.ts'
import type { RunView } from './run-view.ts'

/** Nodes that are named. */
const mostNamed = 3

interface AttentionProps {
  readonly view: RunView
  readonly head: RunHead
}

export function Attention({ view, head }: AttentionProps): JSX.Element | null {
  // The past is looked at on its own.
  if (view.at.value !== undefined) return null
  const counts = head.counts as Readonly<Record<string, number | undefined>>
  const failed = counts['failed'] ?? 0
  const suspended = counts['suspended'] ?? 0
  if (failed > 0) return <FailedNodes view={view} head={head} count={failed} />
  if (head.outcome === 'interrupted') {
    return (
      <p class="note warn">
        The process that ran it has ended before the run did.{' '}
        {head.graph === null && 'Start the same command with --resume, and it continues.'}
      </p>
    )
  }
  const isWaiting = view.store.isLive && suspended > 0 && (counts['running'] ?? 0) === 0
  return isWaiting ? <SuspendedNodes view={view} head={head} count={suspended} /> : null
}

interface NodesProps extends AttentionProps {
  readonly count: number
}

function FailedNodes({ view, head, count }: NodesProps): JSX.Element {
  const { nodes } = view.store
  return (
    <div class="note bad" role="group" aria-label="What failed">
      <ul class="grow">
        {firstIn(view, 'failed').map((node) => (
          <li key={node} class="cut">
            <NodeButton view={view} node={node} />{' '}
            {withoutEscapes(nodes.errors.get(node) ?? 'failed')}
          </li>
        ))}
        <More head={head} state="failed" count={count} />
      </ul>
    </div>
  )
}

function SuspendedNodes({ view, head, count }: NodesProps): JSX.Element {
  return (
    <div class="note" role="group" aria-label="What is waited for">
      <ul class="grow row">
        <li>Nothing runs. Suspended:</li>
        {firstIn(view, 'suspended').map((node) => (
          <li key={node} class="cut">
            <NodeButton view={view} node={node} />
          </li>
        ))}
        <More head={head} state="suspended" count={count} />
      </ul>
    </div>
  )
}

function NodeButton({
  view,
  node,
}: {
  readonly view: RunView
  readonly node: number
}): JSX.Element {
  const name = view.store.nodes.names[node]!
  return (
    <button class="name-link mono" type="button" onClick={() => view.select(name)}>
      {name}
    </button>
  )
}

function More({
  head,
  state,
  count,
}: {
  readonly head: RunHead
  readonly state: string
  readonly count: number
}): JSX.Element | null {
  if (count <= mostNamed) return null
  return (
    <li>
      <a href={link(['runs', head.id, 'nodes'], { is: state })}>
        and {formatCount(count - mostNamed)} more
      </a>
    </li>
  )
}

/** The first nodes in a state, in the order in which they were announced. */
function firstIn({ store }: RunView, state: 'failed' | 'suspended'): number[] {
  const found: number[] = []
  const { nodes } = store
  for (let node = 0; node < nodes.count && found.length < mostNamed; node++) {
    if (nodes.state[node] === stateCode[state]) found.push(node)
  }
  return found
}
