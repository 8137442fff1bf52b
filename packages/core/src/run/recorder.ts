import { isError } from '../errors.ts'
import type { Redact } from '../graph/redact.ts'
import type {
  CommitGuard,
  InputRecord,
  PartDetail,
  RunWriter,
  Transition,
} from '../journal/journal.ts'
import { isEnd } from '../journal/states.ts'
import type { Clock } from '../kernel/clock.ts'
import type { RunEvent } from '../scheduler/events.ts'
import type { NodeState } from '../scheduler/node.ts'
import { jsonHead } from '../recorded/json-value.ts'
import { toErrorRecord } from './error-record.ts'

/** Characters of an input that are recorded, for people to read. */
const longestInput = 4_096

export interface RecorderOptions {
  /** Milliseconds in which earlier processes ran the run. */
  readonly earlier?: number | undefined
  /** Whether starts of parts are written too, and starts are durable before the job is called (R6). */
  readonly writesStarts?: boolean
  /** Whether inputs are recorded. Default true. */
  readonly inputs?: boolean | undefined
}

/**
 * Writes what happens in a run to its journal.
 *
 * A success is committed before it is reported: it is durable when dependents start and when the
 * result is reported (law 6). All other transitions are appended on the way; their order is kept, so
 * a success on disk has everything before it on disk as well.
 *
 * The input of an attempt is part of the row of its start: a row of its own would cost each node a third more. The input is made
 * after the start is reported, in the same turn, so that row is held back until then; whatever is written next writes it first. An
 * input that takes longer to make is part of the next row of its node (docs/decisions/0625).
 */
export class Recorder {
  readonly #writer: RunWriter
  readonly #clock: Clock
  readonly #earlier: number
  #startedAt: number | undefined
  #elapsed: number | undefined
  #writtenState: string | undefined
  readonly #writesStarts: boolean
  readonly #recordsInputs: boolean
  readonly #holdsStarts: boolean
  /** Nodes with failures of parts that stand. */
  readonly #failedParts = new Set<string>()
  /** A start that is not written yet. */
  #start: Transition | undefined
  /** Nodes that are suspended: their next start continues the attempt, and comes without an input. */
  readonly #suspended = new Set<string>()
  /** Inputs that were made after the start of their node was written. */
  readonly #late = new Map<string, InputRecord>()

  constructor(writer: RunWriter, clock: Clock, options: RecorderOptions = {}) {
    this.#writer = writer
    this.#clock = clock
    this.#earlier = options.earlier ?? 0
    this.#writesStarts = options.writesStarts ?? false
    this.#recordsInputs = options.inputs ?? true
    this.#holdsStarts = this.#recordsInputs && !this.#writesStarts
  }

  /** How long the whole run took, as it was written at its end. */
  get elapsed(): number | undefined {
    return this.#elapsed
  }

  /**
   * Like {@link succeeded}, for a part of a node. `mail`: the signal that a wait has got. It is removed from the mailbox together
   * with this row, not with the start that was held back: that may be durable without it.
   */
  partSucceeded(
    node: string,
    attempt: number,
    part: PartDetail,
    value: unknown,
    guard?: CommitGuard,
    mail?: number,
  ): Promise<void> {
    this.writeStart()
    const at = this.#clock.wallTime()
    return this.#writer.commit({ node, state: 'succeeded', attempt, at, part }, value, guard, mail)
  }

  /** Writes down how a part stands, without waiting. */
  part(
    node: string,
    attempt: number,
    state: NodeState,
    part: PartDetail,
    error?: unknown,
    delay?: number,
  ): void {
    if (state === 'failed') this.#failedParts.add(node)
    this.writeStart()
    this.#writer.append({
      node,
      state,
      attempt,
      at: this.#clock.wallTime(),
      part,
      ...(error !== undefined && { error: toErrorRecord(error) }),
      ...(delay !== undefined && { delay }),
    })
  }

  /** An earlier process has left failures of parts of this node, which stand until the node itself ends badly. */
  noteFailedParts(node: string): void {
    this.#failedParts.add(node)
  }

  /** Makes the success of a node durable. It fails when the journal fails, and when the guard drops it. */
  succeeded(node: string, attempt: number, value: unknown, guard?: CommitGuard): Promise<void> {
    this.writeStart()
    const at = this.#clock.wallTime()
    const row = this.#withLateInput({ node, state: 'succeeded', attempt, at })
    return this.#writer.commit(row, value, guard)
  }

  /** The job of a node is about to be called with this input. */
  started(node: string, input: unknown, redact: Redact | undefined): void {
    // Most jobs that are given nothing are given undefined.
    if (input === undefined || !this.#recordsInputs) return this.writeStart()
    const record = inputRecord(input, redact)
    const start = this.#start
    if (start?.node === node) {
      this.#start = record === undefined ? start : { ...start, input: record }
    } else if (record !== undefined) this.#late.set(node, record)
    this.writeStart()
  }

  /** Writes the start that is held back, if there is one: the turn in which the input could be made is over. */
  writeStart(): void {
    const start = this.#start
    if (start === undefined) return
    this.#start = undefined
    this.#writer.append(start)
  }

  #withLateInput(row: Transition): Transition {
    if (this.#late.size === 0) return row
    const input = this.#late.get(row.node)
    if (input === undefined) return row
    this.#late.delete(row.node)
    return { ...row, input }
  }

  readonly observe = (event: RunEvent): void => {
    try {
      this.writeStart()
      this.#write(event)
    } catch (error) {
      // The journal's owner has closed it during the run: the next success says so, and ends the run.
      if (!isError(error, 'HDL_CLOSED')) throw error
    }
  }

  #write(event: RunEvent): void {
    const at = this.#clock.wallTime()
    if (event.type === 'state' && event.state !== this.#writtenState) {
      this.#writtenState = event.state
      this.#startedAt ??= event.at
      if (isEnd(event.state)) this.#elapsed = this.#earlier + event.at - this.#startedAt
      this.#writer.setState(event.state, at, this.#elapsed)
    }
    if (event.type === 'log') {
      this.#writer.log({ node: event.name, attempt: event.attempt, at, text: event.text })
    }
    if (event.type === 'part') return this.#writePart(event)
    if (event.type !== 'node' || event.state === 'succeeded') return
    if (this.#failedParts.size > 0) this.#dropFailedParts(event)
    const { name: node, state, attempt, error, delay, blockedBy } = event
    const plain = this.#withLateInput({ node, state, attempt, at })
    // Most have no more to say, and spreading costs as much as the rest of it.
    if (error === undefined && delay === undefined && blockedBy === undefined) {
      const isResumed = this.#suspended.size > 0 && this.#suspended.delete(node)
      if (state === 'suspended') this.#suspended.add(node)
      if (state === 'running' && !isResumed && this.#holdsStarts) this.#start = plain
      else this.#writer.append(plain)
      return
    }
    this.#writer.append({
      ...plain,
      ...(error !== undefined && { error: toErrorRecord(error) }),
      ...(delay !== undefined && { delay }),
      ...(blockedBy !== undefined && { blockedBy }),
    })
  }

  /**
   * Elements and steps have no rows for waiting and running: there may be a million of them. In a run that was
   * interrupted their starts and ends are written, so that the ones that end the process are found (R6).
   */
  #writePart({
    name,
    path,
    state,
    attempt,
    error,
    delay,
  }: Extract<RunEvent, { type: 'part' }>): void {
    const isStart = state === 'running' || state === 'suspended' || state === 'cancelled'
    if (state === 'failed' || state === 'retrying' || (isStart && this.#writesStarts)) {
      this.part(name, attempt, state, { path }, error, delay)
    }
  }

  /** A node that is tried again tries its failed parts again. */
  #dropFailedParts({ name, state, attempt }: Extract<RunEvent, { type: 'node' }>): void {
    if (state !== 'failed' && state !== 'retrying' && state !== 'cancelled') return
    if (this.#failedParts.delete(name)) this.part(name, attempt, 'waiting', { path: '' })
  }
}

/** Undefined for an unreadable value: a getter that throws. The job has to handle that. */
function inputRecord(input: unknown, redact: Redact | undefined): InputRecord | undefined {
  try {
    const { text, isCut } = jsonHead(input, longestInput, redact)
    return isCut ? { text, isCut } : { text }
  } catch {
    return undefined
  }
}
