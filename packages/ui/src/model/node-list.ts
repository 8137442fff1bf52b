/**
 * Which nodes a table shows, and in which order.
 *
 * Invariants, quoted by the tests:
 *  L1  Exactly the nodes that fit the text (in name or job, case does not count) and the state.
 *  L2  Equal nodes stay in the order in which they were announced; nodes without a value come last either way.
 */
import { nodeStates, stateCode, type NodeWord } from '../api/contract.ts'
import type { NodeTable } from './run-store.ts'

export type NodeOrder =
  | 'name'
  | 'state'
  | 'job'
  | 'started'
  | 'took'
  | 'waited'
  | 'slack'
  | 'attempts'

export interface NodeSelection {
  readonly order: NodeOrder
  readonly isDown: boolean
  readonly text: string
  readonly state: NodeWord | undefined
  /** Milliseconds since the start: running nodes have lasted until then. */
  readonly now: number
}

export function selectNodes(
  nodes: NodeTable,
  states: Uint8Array,
  selection: NodeSelection,
): number[] {
  const { order, isDown, text, state, now } = selection
  const wanted = text.trim().toLowerCase()
  const code = state === undefined ? -1 : (stateCode[state] ?? -1)
  const found: number[] = []
  for (let node = 0; node < nodes.count; node++) {
    if (code >= 0 && states[node] !== code) continue
    if (
      wanted !== '' &&
      !nodes.names[node]!.toLowerCase().includes(wanted) &&
      !nodes.jobOf(node).toLowerCase().includes(wanted)
    )
      continue
    found.push(node)
  }
  if (order === 'name' || order === 'job') {
    const textOf =
      order === 'name' ? (node: number) => nodes.names[node]! : (node: number) => nodes.jobOf(node)
    const compare = new Intl.Collator('en', { numeric: true }).compare
    found.sort((a, b) => (isDown ? -1 : 1) * compare(textOf(a), textOf(b)) || a - b)
    return found
  }
  const value = new Float64Array(nodes.count)
  for (const node of found) value[node] = valueOf(nodes, states, node, order, now)
  found.sort((a, b) => {
    const [x, y] = [value[a]!, value[b]!]
    if (x < 0 || y < 0) return x < 0 && y < 0 ? a - b : x < 0 ? 1 : -1
    return (isDown ? y - x : x - y) || a - b
  })
  return found
}

/** Negative: there is none. */
function valueOf(
  nodes: NodeTable,
  states: Uint8Array,
  node: number,
  order: Exclude<NodeOrder, 'name' | 'job'>,
  now: number,
): number {
  const started = nodes.started[node]!
  switch (order) {
    case 'state':
      return nodeStates.length > states[node]! ? states[node]! : -1
    case 'started':
      return started
    case 'took':
      return started < 0 ? -1 : (nodes.ended[node]! < 0 ? now : nodes.ended[node]!) - started
    case 'waited':
      return started < 0 || nodes.ready[node]! < 0 ? -1 : Math.max(0, started - nodes.ready[node]!)
    case 'slack':
      return nodes.slack[node]!
    case 'attempts':
      return nodes.attempts[node]! > 0 ? nodes.attempts[node]! : -1
  }
}
