/** Writes the rows of one run, for every journal that stores them as rows. */
import { HeddleError } from '../errors.ts'
import { checkMoment } from '../kernel/check.ts'
import type { Clock } from '../kernel/clock.ts'
import { Slices } from '../kernel/slices.ts'
import type { WaitOptions } from '../kernel/waiters.ts'
import type { RunState } from '../scheduler/events.ts'
import { inlineLimit, type RunChange, type StoredValue } from './batch.ts'
import { checkNode, checkRow } from './check-rows.ts'
import { cutText } from './cut-text.ts'
import { encodePieces, encodeValue, nameOfWork, type Pieces } from './encode.ts'
import type {
  CommitGuard,
  HistoryEntry,
  JournalTrouble,
  LogLine,
  NodeHeader,
  RunHolder,
  RunMessage,
  RunWriter,
  Transition,
  WriterWatcher,
} from './journal.ts'
import { RowOrder } from './row-order.ts'
import { checkNodeState, checkRunState, isEnd } from './states.ts'
import type { Recipient } from './mailbox.ts'
import type { Outbox } from './outbox.ts'
import { Kind, elapsedDetail, holderDetail, nodeDetail, nodesDetail } from './rows.ts'
import { storeError } from './sqlite/sqlite-error.ts'

/** Nodes in one row of the history: about 0.1 ms to encode. */
const nodesPerRow = 256

/** The calls of a write side to the writer of a run. */
export interface SideWriter extends Recipient {
  onTrouble(trouble: JournalTrouble | undefined): void
  /** The run was taken by another process. */
  onLost(): void
}

/** Where the rows of a writer go. */
export interface WriterSide {
  readonly outbox: Outbox
  /** Under which the run is held: named in the error when the run is lost. */
  readonly session: number
  /** Carries out work that stores a value; again when that is worth it. */
  persist<T>(work: () => Promise<T>): Promise<T>
  addWriter(run: number, writer: SideWriter): void
  removeWriter(run: number): void
}

/** The calls that a writer makes to its journal. */
export interface WriterHost {
  readonly clock: Clock
  readonly side: WriterSide
  /** Stores values that are too large for a row. */
  readonly values: { store(pieces: Pieces): Promise<StoredValue> }
  /** The writer is done with its run. */
  onClosed(writer: RowWriter): void
}

export class RowWriter implements RunWriter, SideWriter {
  readonly runId: string
  readonly #run: number
  readonly #host: WriterHost
  readonly #outbox: Outbox
  readonly #order = new RowOrder()
  /** Log lines that were refused, by node, until there is room to log how many. */
  readonly #refused = new Map<string, { attempt: number; lines: number }>()
  #watcher: WriterWatcher | undefined
  /** Messages that were read from the mailbox before the run was ready for them, by number (J9). */
  readonly #early = new Map<number, RunMessage>()
  /** Set when another process has taken the run. */
  #lost: HeddleError | undefined
  /** Why a restored value could not be written. */
  #failed: HeddleError | undefined
  #ended = false
  #closing: Promise<void> | undefined

  constructor(runId: string, run: number, host: WriterHost) {
    this.runId = runId
    this.#run = run
    this.#host = host
    this.#outbox = host.side.outbox
    host.side.addWriter(run, this)
  }

  watch(watcher: WriterWatcher): void {
    this.#watcher = watcher
    const early = [...this.#early]
    this.#early.clear()
    for (const [mail, message] of early) this.onMessage(message, mail)
  }

  onTrouble(trouble: JournalTrouble | undefined): void {
    this.#watcher?.onTrouble?.(trouble)
  }

  /** Delivers a message. `mail`: its number, by which it is removed from the mailbox. */
  onMessage(message: RunMessage | undefined, mail: number): void {
    if (message === undefined) {
      this.#order.push(() => this.#outbox.change(this.#taken(mail)))
      return
    }
    if (this.#watcher === undefined) {
      this.#early.set(mail, message)
      return
    }
    this.#watcher.onMessage?.(message, mail)
    if (message.kind === 'cancel') this.#order.push(() => this.#outbox.change(this.#taken(mail)))
  }

  onLost(): void {
    if (this.#lost !== undefined) return
    this.#lost = new HeddleError('HDL_RUN_LOST', {
      run: this.runId,
      epoch: this.#host.side.session,
    })
    this.onTrouble({ error: this.#lost, isFinal: true })
  }

  /** Rows that wait for a large value before them. */
  get held(): number {
    return this.#order.held
  }

  /** Records which process runs the run from here on, and the change that goes with it. */
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
    this.#addNode(transition, transition.part === undefined ? Kind.node : Kind.part)
  }

  commit(
    transition: Transition,
    value?: unknown,
    guard?: CommitGuard,
    mail?: number,
  ): Promise<void> {
    try {
      this.#check('commit()')
      const change = mail === undefined ? undefined : this.#taken(mail)
      if (transition.state !== 'succeeded') {
        this.#addNode(
          transition,
          transition.part === undefined ? Kind.node : Kind.part,
          undefined,
          change,
        )
        return this.flush()
      }
      const kind = transition.part === undefined ? Kind.success : Kind.part
      const { clock, values } = this.#host
      const name = nameOfWork(transition)
      const encoding = encodeValue(name, value, inlineLimit, clock, guard)
      if ('body' in encoding) {
        this.#addNode(transition, kind, encoding, change)
        return this.flush()
      }
      const emit = this.#nodeRow(transition, kind, change)
      let first: Pieces | undefined = encoding.pieces
      const storing = this.#host.side.persist(async () => {
        // When it is tried again it is encoded again: it belongs to the journal until its commit is over.
        const pieces = first ?? encodePieces(name, value, clock, guard)
        first = undefined
        return values.store(pieces)
      })
      return this.#order.hold(storing, (stored) => {
        emit(stored)
        return this.#durable()
      })
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** Adds a row that another journal has recorded. Resolves when there is room for more. */
  async restore(entry: HistoryEntry, stored?: { readonly value: unknown }): Promise<void> {
    switch (entry.kind) {
      case 'nodes':
        for (const node of entry.added) checkNode(node)
        this.announce(entry.added, entry.at)
        break
      case 'log':
        this.#addLog(entry.node, entry.attempt, entry.at, entry.text)
        break
      case 'run': {
        const { at, by, elapsed } = entry
        const code = checkRunState(entry.state)
        const detail = by === undefined ? elapsedDetail(elapsed) : holderDetail(by)
        this.#order.push(() => this.#outbox.add(this.#run, Kind.run, null, code, null, at, detail))
        break
      }
      case 'node':
      case 'part':
        if (stored === undefined) this.append(entry)
        else this.#commitLater(entry, stored.value)
    }
    if (!this.#outbox.hasRoom) await this.waitRoom()
  }

  /** The failure of a value is the failure of the run: flush() reports it. */
  #commitLater(entry: Transition, value: unknown): void {
    this.commit(entry, value).catch((error: unknown) => {
      this.#failed ??= error as HeddleError
    })
  }

  /** Sets the state of the run without a row in its history: a copied run has that row already. */
  setStateWithoutRow(state: RunState, endedAt: number | undefined): Promise<void> {
    const code = checkRunState(state)
    const change = {
      type: 'state',
      run: this.#run,
      state: code,
      endedAt: endedAt ?? null,
    } as const
    this.#order.push(() => this.#outbox.change(change))
    return this.flush()
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
    if (this.#refused.size > 0) this.#logRefusedLines(at)
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
    this.#order
      .hold(this.#encodeNodes([...nodes]), async (details) => {
        for (const detail of details) this.#emitNodes(detail, at)
      })
      .catch((error: unknown) => this.#outbox.fail(storeError(this.runId, 'be written', error)))
  }

  setState(state: RunState, at: number, elapsed?: number): void {
    this.#check('setState()')
    const code = checkRunState(state)
    checkMoment('at', at)
    const detail = elapsedDetail(elapsed)
    const endedAt = isEnd(state) ? at : null
    if (endedAt !== null) {
      this.#logRefusedLines(at)
      this.#ended = true
    }
    const change: RunChange = { type: 'state', run: this.#run, state: code, endedAt }
    this.#order.push(() =>
      this.#outbox.add(this.#run, Kind.run, null, code, null, at, detail, undefined, change),
    )
  }

  flush(options: WaitOptions = {}): Promise<void> {
    const wait = async (): Promise<void> => {
      await this.#outbox.waitDurable(`Run ${this.runId}`, options)
      if (this.#lost !== undefined) throw this.#lost
      if (this.#failed !== undefined) throw this.#failed
    }
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
      if (!this.#ended) this.#logRefusedLines(this.#host.clock.wallTime())
      this.#order.push(() => this.#outbox.change({ type: 'leave', run: this.#run }))
      const isKnown = this.#outbox.isFailureReported || this.#lost !== undefined
      await this.flush().catch((error) => {
        if (!isKnown) throw error
      })
    } finally {
      this.#host.side.removeWriter(this.#run)
      this.#host.onClosed(this)
    }
  }

  /** Like flush(), for rows that were handed over before. */
  async #durable(): Promise<void> {
    await this.#outbox.durable()
    if (this.#lost !== undefined) throw this.#lost
  }

  #check(action: string): void {
    if (this.#closing !== undefined) {
      throw new HeddleError('HDL_CLOSED', { what: `The writer of run ${this.runId}` })
    }
    if (this.#ended) throw new HeddleError('HDL_RUN_ENDED', { action })
  }

  #addNode(transition: Transition, kind: number, value?: StoredValue, change?: RunChange): void {
    if (this.#order.isHolding) {
      const emit = this.#nodeRow(transition, kind, change)
      this.#order.push(() => emit(value))
      return
    }
    const { node, state, attempt, at } = transition
    const code = checkNodeState(state)
    checkRow(transition)
    const detail = nodeDetail(transition)
    this.#outbox.add(this.#run, kind, node, code, attempt, at, detail, value, change)
  }

  /** The removal of a message. */
  #taken(mail: number): RunChange {
    return { type: 'taken', run: this.#run, mail }
  }

  /** A row for later, as it is now. */
  #nodeRow(
    transition: Transition,
    kind: number,
    change?: RunChange,
  ): (value: StoredValue | undefined) => void {
    const { node, state, attempt, at } = transition
    const code = checkNodeState(state)
    checkRow(transition)
    const detail = nodeDetail(transition)
    return (value) =>
      this.#outbox.add(this.#run, kind, node, code, attempt, at, detail, value, change)
  }

  #emitNodes(detail: string, at: number): void {
    this.#outbox.add(this.#run, Kind.nodes, null, null, null, at, detail)
  }

  #addLog(node: string, attempt: number, at: number, text: string): void {
    this.#order.push(() => this.#outbox.add(this.#run, Kind.log, node, null, attempt, at, text))
  }

  /** Logs how many lines were refused, where they would have been: nothing is dropped silently. */
  #logRefusedLines(at: number): void {
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
}
