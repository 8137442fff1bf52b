/** All nodes as a table: the same live state as the graph, sorted and filtered, only the rows that are seen. */
import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { useKeys } from '../../app/actions.ts'
import { address, setQuery } from '../../app/address.ts'
import { nodeStates, type NodeWord } from '../../api/contract.ts'
import { formatCount, formatDuration, plural } from '../../parts/format.ts'
import { Empty } from '../../parts/placeholders.tsx'
import { SearchField } from '../../parts/search-field.tsx'
import { useSize } from '../../parts/size.ts'
import { StateDot } from '../../parts/state.tsx'
import { selectNodes, type NodeOrder } from '../../model/node-list.ts'
import type { RunView } from './run-view.ts'

const rowHeight = 34

const columns: readonly (readonly [NodeOrder, string, boolean])[] = [
  ['name', 'Node', false],
  ['state', 'State', false],
  ['job', 'Job', false],
  ['started', 'Started', true],
  ['took', 'Ran', true],
  ['waited', 'Waited', true],
  ['slack', 'Slack', true],
  ['attempts', 'Attempts', true],
]

/** Columns that a phone has room for. */
const shownSmall: ReadonlySet<NodeOrder> = new Set(['name', 'state', 'took'])

export function NodesTab({ view }: { readonly view: RunView }): JSX.Element {
  const { store } = view
  const version = store.version.value
  const query = address.value.query
  const order = (query['sort'] ?? 'started') as NodeOrder
  const isDown = query['down'] === '1'
  const text = query['find'] ?? ''
  const state = query['is'] as NodeWord | undefined
  const area = useRef<HTMLDivElement>(null)
  const size = useSize(area)
  const scroll = useSignal(0)
  const states = view.states()
  const found = useMemo(
    () => selectNodes(store.nodes, states, { order, isDown, text, state, now: view.moment }),
    [version, order, isDown, text, state, view.at.value],
  )
  const counts = view.counts()
  const first = Math.max(0, Math.floor(scroll.value / rowHeight) - 5)
  const last = Math.min(found.length, first + Math.ceil(size.height / rowHeight) + 10)
  const selected = view.selected.value
  const move = (by: number): void => {
    const at = selected === undefined ? -1 : found.indexOf(store.nodes.indexOf.get(selected) ?? -1)
    const next = Math.max(0, Math.min(found.length - 1, at + by))
    const node = found[next]
    if (node === undefined) return
    view.select(store.nodes.names[node])
    const top = next * rowHeight
    const element = area.current!
    if (top < element.scrollTop) element.scrollTop = top
    else if (top + 2 * rowHeight > element.scrollTop + size.height)
      element.scrollTop = top + 2 * rowHeight - size.height
  }
  useKeys(
    [
      { keys: 'j', label: 'Next node', group: 'Nodes', run: () => move(1) },
      { keys: 'k', label: 'Previous node', group: 'Nodes', run: () => move(-1) },
      {
        keys: 'f',
        label: 'Search nodes',
        group: 'Nodes',
        run: () => document.getElementById('node-search')?.focus(),
      },
    ],
    [found, selected, size.height],
  )
  useEffect(() => {
    area.current?.scrollTo({ top: 0 })
  }, [order, isDown, text, state])
  return (
    <div class="nodes">
      <div class="row tools">
        <SearchField
          id="node-search"
          label="Search nodes"
          placeholder="Name or job"
          value={text}
          onChange={(typed) => setQuery({ find: typed })}
        />
        <div class="row" role="group" aria-label="State of nodes">
          {nodeStates
            .filter((each) => (counts[each] ?? 0) > 0)
            .map((each) => (
              <button
                key={each}
                class="chip"
                type="button"
                aria-pressed={state === each}
                onClick={() => setQuery({ is: state === each ? undefined : each })}
              >
                <StateDot state={each} /> <span class="num">{formatCount(counts[each]!)}</span>
              </button>
            ))}
        </div>
        <span class="grow" />
        <span class="quiet num">{plural(found.length, 'node')}</span>
      </div>
      <div
        class="nodes-area"
        ref={area}
        tabIndex={0}
        role="region"
        aria-label="Nodes"
        onScroll={(event) => (scroll.value = event.currentTarget.scrollTop)}
        onKeyDown={(event) => {
          if (event.key === 'ArrowDown') move(1)
          else if (event.key === 'ArrowUp') move(-1)
          else return
          event.preventDefault()
        }}
      >
        <table aria-rowcount={found.length + 1}>
          <thead>
            <tr>
              {columns.map(([key, title, isRight]) => (
                <th
                  key={key}
                  class={`${isRight ? 'right' : ''} ${shownSmall.has(key) ? '' : 'hide-small'}`}
                  aria-sort={order === key ? (isDown ? 'descending' : 'ascending') : undefined}
                >
                  <button
                    type="button"
                    class="sort"
                    onClick={() =>
                      setQuery({ sort: key, down: order === key && !isDown ? '1' : undefined })
                    }
                  >
                    {title}
                    <span aria-hidden="true">{order === key ? (isDown ? ' ↓' : ' ↑') : ''}</span>
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {first > 0 && (
              <tr class="spacer" style={{ height: `${first * rowHeight}px` }} aria-hidden="true">
                <td />
              </tr>
            )}
            {Array.from({ length: Math.max(0, last - first) }, (_, i) => (
              <NodeRow
                key={found[first + i]}
                view={view}
                node={found[first + i]!}
                index={first + i}
                isSelected={store.nodes.names[found[first + i]!] === selected}
              />
            ))}
            {last < found.length && (
              <tr
                class="spacer"
                style={{ height: `${(found.length - last) * rowHeight}px` }}
                aria-hidden="true"
              >
                <td />
              </tr>
            )}
          </tbody>
        </table>
        {found.length === 0 && <Empty title="No node fits" />}
      </div>
    </div>
  )
}

interface RowProps {
  readonly view: RunView
  readonly node: number
  readonly index: number
  readonly isSelected: boolean
}

function NodeRow({ view, node, index, isSelected }: RowProps): JSX.Element {
  const { nodes } = view.store
  const state = view.stateOf(node)
  const started = nodes.started[node]!
  const ended = nodes.ended[node]!
  const moment = view.moment
  const end = ended >= 0 && ended <= moment ? ended : moment
  const hasStarted = started >= 0 && started <= moment
  const slack = nodes.slack[node]!
  const name = nodes.names[node]!
  return (
    <tr
      class="link"
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      onClick={() => view.select(name)}
    >
      <td>
        <button
          class="node-name mono cut"
          type="button"
          onClick={() => view.select(name)}
          title={name}
        >
          {name}
        </button>
      </td>
      <td>
        <StateDot state={state} />
      </td>
      <td class="soft hide-small cut">
        {nodes.jobOf(node)}
        <span class="place-mark">{nodes.placeOf(node)}</span>
      </td>
      <td class="right nowrap hide-small">{hasStarted ? formatDuration(started) : ''}</td>
      <td class="right nowrap">{hasStarted ? formatDuration(end - started) : ''}</td>
      <td class="right hide-small">
        {hasStarted && nodes.ready[node]! >= 0
          ? formatDuration(Math.max(0, started - nodes.ready[node]!))
          : ''}
      </td>
      <td class="right hide-small">
        {slack === 0 ? 'critical' : slack > 0 ? formatDuration(slack) : ''}
      </td>
      <td class="right hide-small">{nodes.attempts[node]! > 0 ? nodes.attempts[node] : ''}</td>
    </tr>
  )
}
