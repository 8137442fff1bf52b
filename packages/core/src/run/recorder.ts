import { isError } from '../errors.ts'
import type { CommitGuard, PartDetail, RunWriter, Transition } from '../journal/journal.ts'
import { isEnd } from '../journal/states.ts'
import type { Clock } from '../kernel/clock.ts'
import type { RunEvent } from '../scheduler/events.ts'
import type { NodeState } from '../scheduler/node.ts'
import { toErrorRecord } from './error-record.ts'

/**
 * Writes what happens in a run to its journal.
 *
 * A success is committed before it is reported: it is durable when dependents start and when the
 * result is reported (law 6). All other transitions are appended on the way; their order is kept, so
 * a success on disk has everything before it on disk as well.
 */
export class Recorder {
  readonly #writer: RunWriter
  readonly #clock: Clock
  /** Milliseconds in which earlier processes ran the run. */
  readonly #earlier: number
  #startedAt: number | undefined
  #elapsed: number | undefined
  #writtenState: string | undefined
  /** Whether starts of parts are written too (R6). */
  readonly #writesStarts: boolean
  /** Nodes with failures of parts that stand. */
  readonly #failedParts = new Set<string>()

  constructor(
    writer: RunWriter,
    clock: Clock,
    options: { readonly earlier?: number | undefined; readonly writesStarts?: boolean } = {},
  ) {
    this.#writer = writer
    this.#clock = clock
    this.#earlier = options.earlier ?? 0
    this.#writesStarts = options.writesStarts ?? false
  }

  /** How long the whole run took, as it was written at its end. */
  get elapsed(): number | undefined {
    return this.#elapsed
  }

  /** As {@link succeeded}, for a part of a node. */
  partSucceeded(
    node: string,
    attempt: number,
    part: PartDetail,
    value: unknown,
    guard?: CommitGuard,
  ): Promise<void> {
    const at = this.#clock.wallTime()
    return this.#writer.commit({ node, state: 'succeeded', attempt, at, part }, value, guard)
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
    return this.#writer.commit(
      { node, state: 'succeeded', attempt, at: this.#clock.wallTime() },
      value,
      guard,
    )
  }

  readonly observe = (event: RunEvent): void => {
    try {
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
    const plain: Transition = { node, state, attempt, at }
    // Most have no more to say, and spreading costs as much as the rest of it.
    if (error === undefined && delay === undefined && blockedBy === undefined) {
      this.#writer.append(plain)
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
   * Elements and steps have no rows for waiting and running: there may be a million of them. In a run that was interrupted
   * their starts are written, and what ends a stretch of running, so that those that end the process are found (R6).
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
