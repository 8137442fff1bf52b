/** One run in the view: the store, the selected node, and the selected moment. */
import { computed, signal, type ReadonlySignal, type Signal } from '@preact/signals'
import { address, setQuery } from '../../app/address.ts'
import { nodeStates, type NodeWord } from '../../api/contract.ts'
import { followRun } from '../../api/follow.ts'
import { readEdges, readHead, readNodes, readTimeline } from '../../api/runs.ts'
import type { Connection } from '../../app/live.ts'
import { browserClock } from '../../kernel/clock.ts'
import { Throttle } from '../../kernel/throttle.ts'
import { RunStore } from '../../model/run-store.ts'
import { countStates, statesAt } from '../../model/state-at.ts'

/** Milliseconds between two readings of attempts, while they change. */
const attemptInterval = 500

/** Milliseconds: 30 years. */
const longestRun = 1e12

export class RunView {
  readonly store: RunStore
  readonly error: Signal<unknown> = signal(undefined)
  readonly isLoaded: Signal<boolean> = signal(false)
  /** Milliseconds since the start of the run; undefined: now. */
  readonly at: ReadonlySignal<number | undefined> = computed(() => {
    const { at } = address.value.query
    const time = Number(at)
    // An address may hold any text: what cannot be a time of a run is the newest moment.
    return at === undefined || !(time >= 0 && time <= longestRun) ? undefined : time
  })
  /** Name of the selected node. */
  readonly selected: ReadonlySignal<string | undefined> = computed(
    () => address.value.query['node'],
  )
  #states = new Uint8Array(0)
  #statesKey = ''

  constructor(id: string) {
    this.store = new RunStore(id)
  }

  select(name: string | undefined): void {
    setQuery({ node: name })
  }

  lookAt(time: number | undefined): void {
    setQuery({ at: time === undefined ? undefined : String(Math.round(time)) })
  }

  /** The moment that is shown, in milliseconds since the start. */
  get moment(): number {
    return this.at.value ?? this.now
  }

  /** Milliseconds in which a process ran it: so far, or in all. */
  get elapsed(): number {
    const { store } = this
    const head = store.head.peek()
    if (head === undefined) return 0
    const since = store.isLive ? Math.max(0, browserClock.wallTime() - head.until_at) : 0
    return head.elapsed_ms + since
  }

  /** Milliseconds from the start of the run to now, or to its end. */
  get now(): number {
    const { store } = this
    const head = store.head.peek()
    if (head === undefined || !store.isLive) return store.length
    return Math.max(store.length, browserClock.wallTime() - head.started_at)
  }

  /** State of every node at the moment that is shown. */
  states(): Uint8Array {
    const { store } = this
    const at = this.at.value
    const version = store.version.value
    if (at === undefined) return store.nodes.state
    const key = `${at} ${version}`
    if (key === this.#statesKey) return this.#states
    if (this.#states.length < store.nodes.count) this.#states = new Uint8Array(store.nodes.count)
    statesAt(store.nodes, store.bars, at, store.length, this.#states)
    this.#statesKey = key
    return this.#states
  }

  stateOf(node: number): NodeWord {
    return nodeStates[this.states()[node]!] ?? 'waiting'
  }

  /** How many nodes are in each state at the moment that is shown. */
  counts(): Readonly<Record<string, number>> {
    const counts = countStates(this.states(), this.store.nodes.count)
    return Object.fromEntries(nodeStates.map((state, index) => [state, counts[index]!]))
  }

  /** Loads the run and follows it: the function of a {@link Connection}. */
  readonly follow = async ({ signal: ending, onState, onEvent }: Connection): Promise<void> => {
    const { store } = this
    const attempts = new Throttle(
      () => this.#loadAttempts(store.bars.firstOpen(), ending),
      attemptInterval,
      browserClock,
    )
    try {
      await this.load(ending)
      if (!store.isLive) return
      for await (const event of followRun(store.id, store.position, ending, onState)) {
        onEvent()
        if (event.kind === 'reset') {
          await this.load(ending)
        } else if (event.kind === 'change') {
          if (store.apply(event.change)) attempts.call()
          if (event.change.added.length > 0 && store.edges.count < store.nodes.count) {
            await this.#loadEdges(store.edges.count, ending)
          }
        }
      }
      // The stream has ended: the last word on the run, with its critical path.
      await this.load(ending)
    } catch (error) {
      if (!ending.aborted) this.error.value = error
      throw error
    } finally {
      attempts.stop()
    }
  }

  async load(ending: AbortSignal): Promise<void> {
    const { store } = this
    const [edgesFrom, barsFrom] = [store.edges.count, store.bars.firstOpen()]
    const [head, nodes, edges, timeline] = await Promise.all([
      readHead(store.id, ending),
      readNodes(store.id, 0, ending),
      readEdges(store.id, edgesFrom, ending),
      readTimeline(store.id, barsFrom, ending),
    ])
    // Events continue after the oldest of the answers: rows that one of them lacks come once more.
    const position = Math.min(head.position, nodes.position, edges.position, timeline.position)
    store.setHead({ ...head, position })
    store.addNodes(nodes)
    store.addEdges(edges)
    store.addBars(timeline)
    await Promise.all([
      this.#loadNodes(nodes.next, ending),
      this.#loadEdges(edges.next, ending),
      this.#loadAttempts(timeline.next, ending),
    ])
    this.error.value = undefined
    this.isLoaded.value = true
  }

  async #loadNodes(first: number | null, ending: AbortSignal): Promise<void> {
    for (let from = first; from !== null;) {
      const page: Awaited<ReturnType<typeof readNodes>> = await readNodes(
        this.store.id,
        from,
        ending,
      )
      this.store.addNodes(page)
      from = page.next
    }
  }

  async #loadEdges(first: number | null, ending: AbortSignal): Promise<void> {
    for (let from = first; from !== null;) {
      const page: Awaited<ReturnType<typeof readEdges>> = await readEdges(
        this.store.id,
        from,
        ending,
      )
      this.store.addEdges(page)
      from = page.next
    }
  }

  async #loadAttempts(first: number | null, ending: AbortSignal): Promise<void> {
    for (let from = first; from !== null;) {
      const page: Awaited<ReturnType<typeof readTimeline>> = await readTimeline(
        this.store.id,
        from,
        ending,
      )
      this.store.addBars(page)
      from = page.next
    }
  }
}
