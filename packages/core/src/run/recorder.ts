import { isError } from '../errors.ts'
import type { CommitGuard, RunWriter, Transition } from '../journal/journal.ts'
import type { Clock } from '../kernel/clock.ts'
import type { RunEvent } from '../scheduler/events.ts'
import { toErrorRecord } from './error-record.ts'

/**
 * Writes what happens in a run to its journal.
 *
 * A success is committed before anybody hears of it: it is durable when dependents start and when the
 * result is reported (law 6). All other transitions are appended on the way; their order is kept, so
 * a success on disk has everything before it on disk as well.
 */
export class Recorder {
  readonly #writer: RunWriter
  readonly #clock: Clock
  #writtenState: string | undefined

  constructor(writer: RunWriter, clock: Clock) {
    this.#writer = writer
    this.#clock = clock
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
      this.#writer.setState(event.state, at)
    }
    if (event.type === 'log') {
      this.#writer.log({ node: event.name, attempt: event.attempt, at, text: event.text })
    }
    if (event.type !== 'node' || event.state === 'succeeded') return
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
}
