import { HeddleError } from '../../errors.ts'
import { checkMoment } from '../../kernel/check.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { WaitOptions } from '../../kernel/waiters.ts'
import { checkNode, checkRow } from '../check-rows.ts'
import { cutRecord, cutText } from '../cut-text.ts'
import { collectPieces, encodeValue, nameOfWork } from '../encode.ts'
import type {
  CommitGuard,
  LogLine,
  NodeHeader,
  RunHolder,
  RunMessage,
  RunWriter,
  Transition,
  WriterWatcher,
} from '../journal.ts'
import { RowOrder } from '../row-order.ts'
import type { RunState } from '../../scheduler/events.ts'
import { checkNodeState, checkRunState, isEnd } from '../states.ts'
import { waitFor } from '../../kernel/wait-for.ts'
import type { MemoryRun, StoredValue, Unplaced } from './memory-run.ts'

/** The calls that a writer makes to its journal. */
export interface MemoryHost {
  nextPosition(): number
  committed(): void
}

export class MemoryRunWriter implements RunWriter {
  readonly #run: MemoryRun
  readonly #clock: Clock
  readonly #host: MemoryHost
  readonly #order = new RowOrder()
  #watcher: WriterWatcher | undefined
  #ended = false
  #closed = false

  constructor(run: MemoryRun, clock: Clock, host: MemoryHost) {
    this.#run = run
    this.#clock = clock
    this.#host = host
  }

  get runId(): string {
    return this.#run.header.id
  }

  get held(): number {
    return this.#order.held
  }

  /** Records which process runs the run from here on. */
  begin(by: RunHolder, at: number): void {
    this.#put({ kind: 'run', at, state: 'running', by })
  }

  append(transition: Transition): void {
    this.#check('append()')
    this.#put(entryOf(transition))
  }

  commit(
    transition: Transition,
    value?: unknown,
    guard?: CommitGuard,
    mail?: number,
  ): Promise<void> {
    try {
      this.#check('commit()')
      const entry = entryOf(transition)
      if (transition.state !== 'succeeded') {
        this.#put(entry, undefined, mail)
        return this.flush()
      }
      const encoding = encodeValue(nameOfWork(transition), value, Infinity, this.#clock, guard)
      if ('body' in encoding) {
        this.#put(entry, [encoding.body], mail)
        return this.flush()
      }
      return this.#order.hold(collectPieces(encoding.pieces), async (stored) => {
        this.#emit(entry, stored, mail)
        this.#host.committed()
      })
    } catch (error) {
      return Promise.reject(error)
    }
  }

  log(line: LogLine): boolean {
    if (this.#ended || this.#closed) return false
    checkRow(line)
    const { node, attempt, at } = line
    for (const text of cutText(line.text)) this.#put({ kind: 'log', node, attempt, at, text })
    return true
  }

  addNodes(nodes: readonly NodeHeader[], at: number = this.#clock.wallTime()): void {
    this.#check('addNodes()')
    this.#put({ kind: 'nodes', at, added: nodes.map(copyNode) })
  }

  setState(state: RunState, at: number, elapsed?: number): void {
    this.#check('setState()')
    checkRunState(state)
    checkMoment('at', at)
    this.#ended = isEnd(state)
    this.#put({ kind: 'run', at, state, ...(elapsed !== undefined && { elapsed }) })
  }

  flush(options: WaitOptions = {}): Promise<void> {
    if (options.signal !== undefined || options.deadline !== undefined) {
      return waitFor(this.flush(), `Run ${this.runId}`, this.#clock, options)
    }
    if (this.#order.isHolding) {
      return this.#order.hold(Promise.resolve(), async () => this.#host.committed())
    }
    this.#host.committed()
    return Promise.resolve()
  }

  waitRoom(options: WaitOptions = {}): Promise<void> {
    return waitFor(Promise.resolve(), `Run ${this.runId}`, this.#clock, options)
  }

  watch(watcher: WriterWatcher): void {
    this.#watcher = watcher
    for (const [mail, message] of this.#run.signals) this.receive(message, mail)
  }

  receive(message: RunMessage, mail: number): void {
    this.#watcher?.onMessage?.(message, mail)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.flush()
    this.#run.writer = undefined
  }

  #check(action: string): void {
    const what = `The writer of run ${this.runId}`
    if (this.#closed) throw new HeddleError('HDL_CLOSED', { what })
    if (this.#ended) throw new HeddleError('HDL_RUN_ENDED', { action })
  }

  #put(entry: Unplaced, value?: StoredValue, mail?: number): void {
    this.#order.push(() => this.#emit(entry, value, mail))
  }

  #emit(entry: Unplaced, value?: StoredValue, mail?: number): void {
    this.#run.add({ ...entry, position: this.#host.nextPosition() }, value)
    if (mail !== undefined) this.#run.signals.delete(mail)
  }
}

/** Copies: what callers do with their objects afterwards is not history. */
function entryOf(transition: Transition): Unplaced {
  const { node, state, attempt, at, error, delay, blockedBy, part, input } = transition
  checkNodeState(state)
  checkRow(transition)
  return {
    ...(part === undefined ? { kind: 'node' } : { kind: 'part', part: { ...part } }),
    node,
    state,
    attempt,
    at,
    ...(error !== undefined && { error: cutRecord(error) }),
    ...(delay !== undefined && { delay }),
    ...(blockedBy !== undefined && { blockedBy }),
    ...(input !== undefined && { input: { ...input } }),
  }
}

function copyNode(node: NodeHeader): NodeHeader {
  checkNode(node)
  return { ...node, after: [...node.after] }
}
