/**
 * One run as the dashboard knows it: columns of nodes and attempts, filled by pages and kept current by events.
 *
 *     empty ── load() ──▶ loaded ── change events ──▶ loaded …        reset ──▶ load() again
 *
 * Invariants, quoted by the tests:
 *  R1  A node keeps its index for ever: what the reader selected stays selected.
 *  R2  Applying a change twice, or an older one than the known state, changes nothing. One without a new row may bring
 *      another outcome: the server has seen it before its row, or it has none (a process that is gone).
 *  R3  After any change the counts are those that the server sent with it.
 *  R4  Attempts that have ended are never asked for again.
 */
import { signal, type ReadonlySignal, type Signal } from '@preact/signals'
import {
  hasEnded,
  isActive,
  nodeStates,
  places,
  stateCode,
  type GraphEdges,
  type NodeColumns,
  type RunChange,
  type RunHead,
  type Timeline,
} from '../api/contract.ts'
import type { Edges } from '../graph/edges.ts'
import { grow } from './columns.ts'

/** Nodes as columns. `-1` in a time: not yet. */
export class NodeTable {
  count = 0
  readonly names: string[] = []
  readonly jobs: string[] = []
  readonly indexOf: Map<string, number> = new Map()
  job: Int32Array = new Int32Array(0)
  place: Uint8Array = new Uint8Array(0)
  state: Uint8Array = new Uint8Array(0)
  attempts: Int32Array = new Int32Array(0)
  ready: Float64Array = new Float64Array(0)
  started: Float64Array = new Float64Array(0)
  ended: Float64Array = new Float64Array(0)
  slack: Float64Array = new Float64Array(0)
  parent: Int32Array = new Int32Array(0)
  readonly errors: Map<number, string> = new Map()
  readonly blockedBy: Map<number, string> = new Map()

  makeRoom(count: number): void {
    this.job = grow(this.job, count)
    this.place = grow(this.place, count)
    this.state = grow(this.state, count)
    this.attempts = grow(this.attempts, count)
    this.ready = grow(this.ready, count)
    this.started = grow(this.started, count)
    this.ended = grow(this.ended, count)
    this.slack = grow(this.slack, count)
    this.parent = grow(this.parent, count)
  }

  jobIndex(name: string): number {
    const found = this.jobs.indexOf(name)
    return found >= 0 ? found : this.jobs.push(name) - 1
  }

  jobOf(node: number): string {
    return this.jobs[this.job[node]!] ?? ''
  }

  placeOf(node: number): string {
    return places[this.place[node]!] ?? 'loop'
  }

  stateOf(node: number): (typeof nodeStates)[number] {
    return nodeStates[this.state[node]!] ?? 'waiting'
  }
}

/** Attempts as columns, in order of their start. */
export class BarTable {
  count = 0
  lanes: readonly { readonly place: string; readonly name: string }[] = []
  node: Int32Array = new Int32Array(0)
  attempt: Int32Array = new Int32Array(0)
  lane: Int32Array = new Int32Array(0)
  queued: Float64Array = new Float64Array(0)
  started: Float64Array = new Float64Array(0)
  ended: Float64Array = new Float64Array(0)
  outcome: Uint8Array = new Uint8Array(0)
  suspended: (readonly [number, number, number])[] = []
  loopGaps: readonly (readonly [number, number, string])[] = []

  /** Index of the first attempt that may still change (R4). */
  firstOpen(): number {
    for (let bar = 0; bar < this.count; bar++) if (this.outcome[bar] === 0) return bar
    return this.count
  }

  takeIn(page: Timeline): void {
    const count = page.from + page.node.length
    this.node = grow(this.node, count)
    this.attempt = grow(this.attempt, count)
    this.lane = grow(this.lane, count)
    this.queued = grow(this.queued, count)
    this.started = grow(this.started, count)
    this.ended = grow(this.ended, count)
    this.outcome = grow(this.outcome, count)
    this.node.set(page.node, page.from)
    this.attempt.set(page.attempt, page.from)
    this.lane.set(page.lane, page.from)
    this.queued.set(page.queued, page.from)
    this.started.set(page.started, page.from)
    this.ended.set(page.ended, page.from)
    this.outcome.set(page.outcome, page.from)
    this.count = count
    if (page.lanes.length >= this.lanes.length) this.lanes = page.lanes
    this.suspended = [
      ...this.suspended.filter(([bar]) => bar < page.from),
      ...page.suspended.map(([bar, from, to]) => [bar + page.from, from, to] as const),
    ]
    this.loopGaps = page.loop_gaps
  }
}

export class RunStore {
  readonly id: string
  readonly nodes: NodeTable = new NodeTable()
  readonly bars: BarTable = new BarTable()
  readonly #version = signal(0)
  readonly #head: Signal<RunHead | undefined> = signal(undefined)
  readonly progress: Map<string, readonly [fraction: number, text: string | null]> = new Map()
  #position = 0
  #lastAt = 0
  #offsets = new Int32Array(1)
  #after = new Int32Array(0)
  #edgeNodes = 0
  /** Dependencies of nodes that events announced, until the edges are asked for. */
  #graphVersion = 0

  constructor(id: string) {
    this.id = id
  }

  /** Grows with every change: drawings depend on it. */
  get version(): ReadonlySignal<number> {
    return this.#version
  }

  get head(): ReadonlySignal<RunHead | undefined> {
    return this.#head
  }

  /** The last row of the run's history that is known. */
  get position(): number {
    return this.#position
  }

  /** Grows when nodes or edges were added. */
  get graphVersion(): number {
    return this.#graphVersion
  }

  /** Milliseconds from the start of the run to the last that is known of it. */
  get length(): number {
    const head = this.#head.peek()
    if (head === undefined) return 0
    return Math.max(0, (head.ended_at ?? Math.max(head.until_at, this.#lastAt)) - head.started_at)
  }

  get edges(): Edges {
    return { count: this.#edgeNodes, offsets: this.#offsets, after: this.#after }
  }

  get isLive(): boolean {
    const outcome = this.#head.peek()?.outcome
    return outcome !== undefined && isActive(outcome)
  }

  setHead(head: RunHead): void {
    this.#head.value = head
    this.#position = Math.max(this.#position, head.position)
    this.#changed()
  }

  addNodes(page: NodeColumns): void {
    const { nodes } = this
    const count = page.from + page.name.length
    nodes.makeRoom(count)
    const jobs = page.jobs.map((name) => nodes.jobIndex(name))
    const placeOf = page.places.map((place) => places.indexOf(place))
    for (let i = 0; i < page.name.length; i++) {
      const node = page.from + i
      const name = page.name[i]!
      nodes.names[node] = name
      nodes.indexOf.set(name, node)
      nodes.job[node] = jobs[page.job[i]!]!
      nodes.place[node] = placeOf[page.place[i]!]!
      nodes.state[node] = page.state[i]!
      nodes.attempts[node] = page.attempts[i]!
      nodes.ready[node] = page.ready[i]!
      nodes.started[node] = page.started[i]!
      nodes.ended[node] = page.ended[i]!
      nodes.slack[node] = page.slack[i]!
      nodes.parent[node] = page.parent[i]!
    }
    for (const [node, text] of page.errors) nodes.errors.set(node, text)
    for (const [node, name] of page.blocked_by) nodes.blockedBy.set(node, name)
    if (count > nodes.count) {
      nodes.count = count
      this.#graphVersion++
    }
    this.#changed()
  }

  addEdges(page: GraphEdges): void {
    const added = page.offsets.length - 1
    const count = page.from + added
    const base = this.#offsets[page.from] ?? this.#after.length
    const offsets = new Int32Array(count + 1)
    offsets.set(this.#offsets.subarray(0, page.from + 1))
    const first = page.offsets[0] ?? 0
    for (let i = 0; i < added; i++) offsets[page.from + i + 1] = base + page.offsets[i + 1]! - first
    const after = new Int32Array(offsets[count]!)
    after.set(this.#after.subarray(0, base))
    after.set(page.after.slice(0, after.length - base), base)
    this.#offsets = offsets
    this.#after = after
    this.#edgeNodes = count
    this.#graphVersion++
    this.#changed()
  }

  addBars(page: Timeline): void {
    this.bars.takeIn(page)
    this.#changed()
  }

  /** Applies a change from the server. Returns whether attempts may have begun or ended. */
  apply(change: RunChange): boolean {
    const known = this.#head.peek()?.outcome
    const isTurn =
      change.position === this.#position && change.outcome !== undefined && change.outcome !== known
    if (change.position <= this.#position && !isTurn && change.progress.length === 0) return false
    this.#lastAt = Math.max(this.#lastAt, change.at)
    for (const [name, fraction, text] of change.progress) this.progress.set(name, [fraction, text])
    const isNews = change.position > this.#position
    if (isNews) {
      this.#position = change.position
      this.#addAnnounced(change)
      for (const row of change.nodes) this.#move(row)
    }
    if (isNews || isTurn) {
      const head = this.#head.peek()
      if (head !== undefined) {
        const outcome = change.outcome ?? head.outcome
        const isOver = hasEnded(outcome)
        this.#head.value = {
          ...head,
          outcome,
          counts: change.counts,
          nodes: Math.max(head.nodes, this.nodes.count),
          until_at: Math.max(head.until_at, change.at),
          elapsed_ms: head.elapsed_ms + Math.max(0, change.at - head.until_at),
          ended_at: isOver ? (head.ended_at ?? change.at) : null,
        }
      }
    }
    this.#changed()
    return isNews && change.nodes.length > 0
  }

  #addAnnounced({ added }: RunChange): void {
    const { nodes } = this
    for (const { name, job, place, after } of added) {
      if (nodes.indexOf.has(name)) continue
      const node = nodes.count
      nodes.makeRoom(node + 1)
      nodes.names[node] = name
      nodes.indexOf.set(name, node)
      nodes.job[node] = nodes.jobIndex(job)
      nodes.place[node] = places.indexOf(place)
      nodes.state[node] = stateCode.waiting
      nodes.attempts[node] = 0
      nodes.ready[node] = nodes.started[node] = nodes.ended[node] = nodes.slack[node] = -1
      nodes.parent[node] = this.#parentOf(name)
      nodes.count = node + 1
      this.#addEdgesOf(node, after)
      this.#graphVersion++
    }
  }

  /** Nodes of a sub-graph are named `train/one`. */
  #parentOf(name: string): number {
    const slash = name.lastIndexOf('/')
    return slash < 0 ? -1 : (this.nodes.indexOf.get(name.slice(0, slash)) ?? -1)
  }

  #addEdgesOf(node: number, after: readonly string[]): void {
    if (node !== this.#edgeNodes) return
    const found = after.flatMap((name) => this.nodes.indexOf.get(name) ?? [])
    const used = this.#offsets[this.#edgeNodes]!
    this.#offsets = grow(this.#offsets, node + 2)
    this.#after = grow(this.#after, used + found.length)
    this.#after.set(found, used)
    this.#offsets[node + 1] = used + found.length
    this.#edgeNodes = node + 1
  }

  #move([name, state, attempt, at, error]: RunChange['nodes'][number]): void {
    const { nodes } = this
    const node = nodes.indexOf.get(name)
    const head = this.#head.peek()
    if (node === undefined || head === undefined) return
    const time = Math.max(0, at - head.started_at)
    nodes.state[node] = state
    nodes.attempts[node] = Math.max(nodes.attempts[node]!, attempt + (state >= 2 ? 1 : 0))
    if (error !== null) nodes.errors.set(node, error)
    switch (nodeStates[state]) {
      case 'ready':
        nodes.ready[node] = time
        break
      case 'running':
        if (nodes.started[node]! < 0) nodes.started[node] = time
        break
      case 'succeeded':
      case 'failed':
      case 'blocked':
      case 'skipped':
      case 'cancelled':
      case 'interrupted':
        nodes.ended[node] = time
        break
      case 'waiting':
      case 'retrying':
      case 'suspended':
      case undefined:
        break
    }
  }

  #changed(): void {
    this.#version.value++
  }
}
