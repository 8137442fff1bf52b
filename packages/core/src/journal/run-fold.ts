/** How a run stands, worked out from its rows: what every journal answers its readers with. */
import { readWaitPath } from '../attempts/part-path.ts'
import type { NodeState } from '../scheduler/node.ts'
import type {
  ErrorRecord,
  HistoryEntry,
  NodeHeader,
  NodeSnapshot,
  PartDetail,
  PartEntry,
  RunHolder,
  RunSummary,
} from './journal.ts'
import type { RunState } from '../scheduler/events.ts'
import { isEnd } from './states.ts'

export type Counts = RunSummary['counts']

/** Counts nodes by state. Remembers one state for each node, nothing else. */
export class CountFold {
  readonly #states = new Map<string, NodeState>()
  readonly #counts = new Map<NodeState, number>()

  /** A node that was never announced counts from its first row on. */
  add(node: string, state: NodeState): void {
    const before = this.#states.get(node)
    if (before === state) return
    if (before !== undefined) this.#change(before, -1)
    this.#states.set(node, state)
    this.#change(state, 1)
  }

  addNodes(nodes: readonly NodeHeader[]): void {
    for (const { name } of nodes) if (!this.#states.has(name)) this.add(name, 'waiting')
  }

  counts(): Counts {
    return Object.fromEntries(this.#counts)
  }

  #change(state: NodeState, by: number): void {
    const count = (this.#counts.get(state) ?? 0) + by
    if (count === 0) this.#counts.delete(state)
    else this.#counts.set(state, count)
  }
}

/** Adds up the time in which processes ran a run: from the start of each to its last row, or as its end says. */
export class ElapsedFold {
  #before = 0
  #since: number | undefined
  elapsed = 0

  add(entry: HistoryEntry): void {
    if (entry.kind === 'run' && entry.by !== undefined) {
      this.#before = this.elapsed
      this.#since = entry.at
    }
    if (entry.kind === 'run' && entry.elapsed !== undefined) this.elapsed = entry.elapsed
    // Rows of a fork have the times of the run that they were copied from.
    else if (this.#since !== undefined)
      this.elapsed = this.#before + Math.max(0, entry.at - this.#since)
  }
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

interface NodeFold extends Writable<Omit<NodeSnapshot, 'errors'>> {
  errors: ErrorRecord[]
}

/** A run up to some row. */
export class RunFold {
  readonly #nodes = new Map<string, NodeFold>()
  state: RunState = 'running'
  endedAt: number | undefined
  by: RunHolder | undefined
  /** The last row taken in. */
  position = 0
  readonly #elapsed = new ElapsedFold()

  get elapsed(): number {
    return this.#elapsed.elapsed
  }

  /** `hasValue`: the row came with a result. */
  add(entry: HistoryEntry, hasValue: boolean): void {
    this.position = entry.position
    this.#elapsed.add(entry)
    switch (entry.kind) {
      case 'nodes':
        for (const node of entry.added) this.#announce(node)
        return
      case 'run':
        this.state = entry.state
        this.endedAt = isEnd(entry.state) ? entry.at : undefined
        this.by = entry.by ?? this.by
        if (entry.by !== undefined) this.#interrupt()
        return
      case 'node':
        this.#move(entry, hasValue)
        return
      case 'part':
        this.#countPart(entry)
        return
      case 'log':
    }
  }

  /** The nodes in the order in which they were announced. */
  nodes(): NodeSnapshot[] {
    return [...this.#nodes.values()]
  }

  counts(): Counts {
    const counts: Partial<Record<NodeState, number>> = {}
    for (const { state } of this.#nodes.values()) counts[state] = (counts[state] ?? 0) + 1
    return counts
  }

  /** Another process takes over: running nodes have been interrupted. */
  #interrupt(): void {
    for (const node of this.#nodes.values()) {
      if (node.state === 'running') node.interruptions = (node.interruptions ?? 0) + 1
    }
  }

  #countPart({ node: name, state, part, position }: PartEntry): void {
    const node = this.#nodes.get(name)
    if (node === undefined) return
    if (part.path === '') {
      if (state === 'skipped') dropParts(node, position)
      return
    }
    node.partsFrom ??= position - 1
    takeWait(node, state, part)
    if (state !== 'succeeded' && state !== 'failed') return
    const { succeeded, failed } = node.parts ?? { succeeded: 0, failed: 0 }
    node.parts = {
      succeeded: succeeded + (state === 'succeeded' ? 1 : 0),
      failed: failed + (state === 'failed' ? 1 : 0),
    }
  }

  #announce(header: NodeHeader): NodeFold {
    let node = this.#nodes.get(header.name)
    if (node === undefined) {
      node = { ...header, state: 'waiting', attempt: 0, errors: [], hasValue: false }
      this.#nodes.set(header.name, node)
    } else {
      Object.assign(node, header)
    }
    return node
  }

  #move(row: HistoryEntry & { readonly kind: 'node' }, hasValue: boolean): void {
    const { state, attempt, at, error, blockedBy } = row
    // Rows of a node whose announcement was lost with a damaged page are still worth showing.
    const node =
      this.#nodes.get(row.node) ??
      this.#announce({ name: row.node, job: row.node, place: 'loop', after: [] })
    const isResumed = node.state === 'suspended'
    node.state = state
    node.attempt = attempt
    node.hasValue = hasValue
    if (row.input !== undefined) node.inputAt = row.position
    if (error !== undefined) node.errors.push(error)
    if (blockedBy === undefined) delete node.blockedBy
    else node.blockedBy = blockedBy
    switch (state) {
      case 'waiting':
      case 'retrying':
        delete node.endedAt
        return
      case 'ready':
        node.readyAt = at
        delete node.startedAt
        delete node.endedAt
        return
      case 'running':
        if (!isResumed) node.startedAt = at
        delete node.endedAt
        return
      case 'suspended':
        return
      case 'succeeded':
      case 'failed':
      case 'blocked':
      case 'skipped':
      case 'cancelled':
        node.endedAt = at
        delete node.interruptions
        delete node.waits
    }
  }
}

/** Results computed from its parts so far are no longer valid. */
function dropParts(node: NodeFold, position: number): void {
  node.partsFrom = position
  delete node.parts
  delete node.waits
}

/** A node may have a million elements that wait: this many are remembered for its readers. */
const mostWaits = 100

/** A wait begins with its first row and ends with the next one of the same path. */
function takeWait(node: NodeFold, state: NodeState, part: PartDetail): void {
  const { path, until } = part
  const { waits = [] } = node
  if (state !== 'suspended') {
    if (!waits.some((wait) => wait.path === path)) return
    node.waits = waits.filter((wait) => wait.path !== path)
    if (node.waits.length === 0) delete node.waits
    return
  }
  const wait = readWaitPath(path)
  if (wait === undefined || waits.length >= mostWaits) return
  // A wait that has lost a race has a second row, and may be waited for again.
  if (waits.some((each) => each.path === path)) return
  node.waits = [...waits, { path, ...wait, ...(until !== undefined && { until }) }]
}
