import { HeddleError } from '../../errors.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Slices } from '../../kernel/slices.ts'
import type { WaitOptions } from '../../kernel/waiters.ts'
import type { RunState } from '../../scheduler/events.ts'
import { checkNode, checkRow, checkTime } from '../checks.ts'
import { cutText } from '../cut.ts'
import { encodeValue } from '../encode.ts'
import type { LogLine, NodeHeader, RunHolder, RunWriter, Transition } from '../journal.ts'
import { RowOrder } from '../row-order.ts'
import { checkNodeState, checkRunState, isEnd } from '../states.ts'
import type { RunChange } from './messages.ts'
import type { Outbox } from './outbox.ts'
import { holderDetail, nodeDetail, nodesDetail } from './rows.ts'
import { Kind } from './schema.ts'
import { storeError } from './sqlite-error.ts'
import { inlineLimit, type StoredValue, type ValueFiles } from './value-files.ts'

/** Nodes in one row of the history: about 0.1 ms to encode. */
const nodesPerRow = 256

const none: StoredValue = { body: new Uint8Array(0) }

/** What a writer needs of its journal. */
export interface WriterHost {
  readonly file: string
  readonly clock: Clock
  readonly outbox: Outbox
  readonly values: ValueFiles
  /** The writer is done with its run. */
  onClosed(writer: SqliteRunWriter): void
}

export class SqliteRunWriter implements RunWriter {
  readonly runId: string
  readonly #run: number
  readonly #host: WriterHost
  readonly #outbox: Outbox
  readonly #order = new RowOrder()
  /** Log lines that were refused, by node, until there is room to say so. */
  readonly #refused = new Map<string, { attempt: number; lines: number }>()
  #ended = false
  #closing: Promise<void> | undefined

  constructor(runId: string, run: number, host: WriterHost) {
    this.runId = runId
    this.#run = run
    this.#host = host
    this.#outbox = host.outbox
  }

  /** Rows that wait for a large value before them. */
  get held(): number {
    return this.#order.held
  }

  /** Writes down who runs the run from here on, and the change that goes with it. */
  begin(by: RunHolder, at: number, change: RunChange): Promise<void> {
    const running = checkRunState('running')
    const detail = holderDetail(by)
    this.#order.push(() =>
      this.#outbox.add(this.#run, Kind.run, null, running, null, at, detail, undefined, change),
    )
    return this.flush()
  }

  append(transition: Transition): void {
    this.#check('append()')
    this.#addNode(transition, Kind.node)
  }

  commit(transition: Transition, value?: unknown): Promise<void> {
    try {
      this.#check('commit()')
      if (transition.state !== 'succeeded') {
        this.#addNode(transition, Kind.node)
        return this.flush()
      }
      const { clock, values } = this.#host
      if (value === undefined) {
        this.#addNode(transition, Kind.success, none)
        return this.flush()
      }
      const encoding = encodeValue(transition.node, value, inlineLimit, clock)
      if ('body' in encoding) {
        this.#addNode(transition, Kind.success, encoding)
        return this.flush()
      }
      const emit = this.#nodeRow(transition, Kind.success)
      return this.#order.hold(this.#guarded(values.store(encoding.pieces)), (stored) => {
        emit(stored)
        return this.#outbox.durable()
      })
    } catch (error) {
      return Promise.reject(error)
    }
  }

  log(line: LogLine): boolean {
    if (this.#ended || this.#closing !== undefined) return false
    checkRow(line)
    const { node, attempt, at, text } = line
    if (!this.#outbox.hasRoom) {
      const refused = this.#refused.get(node)
      this.#refused.set(node, { attempt, lines: (refused?.lines ?? 0) + 1 })
      return false
    }
    if (this.#refused.size > 0) this.#confess(at)
    for (const piece of cutText(text)) this.#addLog(node, attempt, at, piece)
    return true
  }

  addNodes(nodes: readonly NodeHeader[]): void {
    this.#check('addNodes()')
    for (const node of nodes) checkNode(node)
    this.announce(nodes, this.#host.clock.wallTime())
  }

  /** Adds nodes that have been checked. */
  announce(nodes: readonly NodeHeader[], at: number): void {
    if (nodes.length <= nodesPerRow) {
      const detail = nodesDetail(nodes)
      this.#order.push(() => this.#emitNodes(detail, at))
      return
    }
    void this.#order.hold(this.#encodeNodes([...nodes]), async (details) => {
      for (const detail of details) this.#emitNodes(detail, at)
    })
  }

  setState(state: RunState, at: number): void {
    this.#check('setState()')
    const code = checkRunState(state)
    checkTime(at)
    const endedAt = isEnd(state) ? at : null
    if (endedAt !== null) {
      this.#confess(at)
      this.#ended = true
    }
    const change: RunChange = { type: 'state', run: this.#run, state: code, endedAt }
    this.#order.push(() =>
      this.#outbox.add(this.#run, Kind.run, null, code, null, at, null, undefined, change),
    )
  }

  flush(options: WaitOptions = {}): Promise<void> {
    const wait = (): Promise<void> => this.#outbox.waitDurable(`Run ${this.runId}`, options)
    return this.#order.isHolding ? this.#order.hold(Promise.resolve(), wait) : wait()
  }

  waitRoom(options: WaitOptions = {}): Promise<void> {
    return this.#outbox.waitRoom(`Run ${this.runId}`, options)
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    try {
      if (!this.#ended) this.#confess(this.#host.clock.wallTime())
      this.#order.push(() => this.#outbox.change({ type: 'leave', run: this.#run }))
      const isKnown = this.#outbox.isFailureTold
      await this.flush().catch((error) => {
        if (!isKnown) throw error
      })
    } finally {
      this.#host.onClosed(this)
    }
  }

  #check(action: string): void {
    if (this.#closing !== undefined) {
      throw new HeddleError('HDL_CLOSED', { what: `The writer of run ${this.runId}` })
    }
    if (this.#ended) throw new HeddleError('HDL_RUN_ENDED', { action })
  }

  #addNode(transition: Transition, kind: number, value?: StoredValue): void {
    if (this.#order.isHolding) {
      const emit = this.#nodeRow(transition, kind)
      this.#order.push(() => emit(value))
      return
    }
    const { node, state, attempt, at } = transition
    const code = checkNodeState(state)
    checkRow(transition)
    this.#outbox.add(this.#run, kind, node, code, attempt, at, nodeDetail(transition), value)
  }

  /** A row for later, as it is now. */
  #nodeRow(transition: Transition, kind: number): (value: StoredValue | undefined) => void {
    const { node, state, attempt, at } = transition
    const code = checkNodeState(state)
    checkRow(transition)
    const detail = nodeDetail(transition)
    return (value) => this.#outbox.add(this.#run, kind, node, code, attempt, at, detail, value)
  }

  #emitNodes(detail: string, at: number): void {
    this.#outbox.add(this.#run, Kind.nodes, null, null, null, at, detail)
  }

  #addLog(node: string, attempt: number, at: number, text: string): void {
    this.#order.push(() => this.#outbox.add(this.#run, Kind.log, node, null, attempt, at, text))
  }

  /** Nothing is dropped silently: how many lines are missing stands where they would have stood. */
  #confess(at: number): void {
    for (const [node, { attempt, lines }] of this.#refused) {
      const what = lines === 1 ? '1 line is' : `${lines} lines are`
      const text = `(${what} missing here: the journal was behind)`
      this.#addLog(node, attempt, at, text)
    }
    this.#refused.clear()
  }

  async #encodeNodes(nodes: readonly NodeHeader[]): Promise<string[]> {
    const slices = new Slices(this.#host.clock, 1)
    const details: string[] = []
    for (let from = 0; from < nodes.length; from += nodesPerRow) {
      details.push(nodesDetail(nodes.slice(from, from + nodesPerRow)))
      if (slices.due) await slices.next()
    }
    return details
  }

  /** A value that could not be stored would leave a gap behind it: the journal fails with it (J6). */
  async #guarded(storing: Promise<StoredValue>): Promise<StoredValue> {
    try {
      return await storing
    } catch (error) {
      if (!(error instanceof HeddleError) || error.code !== 'HDL_NOT_CLONEABLE') {
        this.#outbox.fail(storeError(this.#host.file, 'be written', error))
      }
      throw error
    }
  }
}
