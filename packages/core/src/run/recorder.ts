import { describe } from '../errors.ts'
import type { ErrorRecord, RunWriter, Transition } from '../journal/journal.ts'
import type { Clock } from '../kernel/clock.ts'
import type { RunEvent } from '../scheduler/events.ts'

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

  /** Makes the success of a node durable. It fails when the journal fails. */
  succeeded(node: string, attempt: number, value: unknown): Promise<void> {
    return this.#writer.commit(
      { node, state: 'succeeded', attempt, at: this.#clock.wallTime() },
      value,
    )
  }

  readonly observe = (event: RunEvent): void => {
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
    const transition: Transition = {
      node,
      state,
      attempt,
      at,
      ...(error !== undefined && { error: toErrorRecord(error) }),
      ...(delay !== undefined && { delay }),
      ...(blockedBy !== undefined && { blockedBy }),
    }
    this.#writer.append(transition)
  }
}

/** An error as plain data, with its causes. */
function toErrorRecord(error: unknown, depth = 0): ErrorRecord {
  if (!(error instanceof Error)) return { name: typeof error, message: describe(error) }
  const code = (error as { code?: unknown }).code
  return {
    name: error.name,
    message: error.message,
    ...(typeof code === 'string' && { code }),
    ...(error.stack !== undefined && { stack: error.stack }),
    // Causes may be circular, and nobody reads the tenth.
    ...(error.cause !== undefined && depth < 8 && { cause: toErrorRecord(error.cause, depth + 1) }),
  }
}
