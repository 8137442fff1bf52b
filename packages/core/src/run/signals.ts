/**
 * Signals of a run: messages that jobs wait for with `ctx.waitFor(name)`.
 *
 *   message ──a job waits for its name──▶ taken, with the row that says so
 *      └── no job waits ──▶ kept until one does; it stays in the mailbox of the journal meanwhile
 *
 * G9: if several waits have one name, the first gets the first signal; a signal goes to one wait.
 */
import type { RunMessage } from '../journal/journal.ts'

export type Signal = Extract<RunMessage, { kind: 'signal' }>

export interface ReceivedSignal {
  readonly value: unknown
  /** Its number in the mailbox: the row that records its delivery removes it. Undefined in a run without a journal. */
  readonly mail: number | undefined
}

export class Signals {
  readonly #kept = new Map<string, ReceivedSignal[]>()
  readonly #waiting = new Map<string, Set<(signal: ReceivedSignal) => void>>()

  receive({ name, value }: Signal, mail: number | undefined): void {
    const [first] = this.#waiting.get(name) ?? []
    if (first !== undefined) {
      this.forget(name, first)
      return first({ value, mail })
    }
    const kept = this.#kept.get(name)
    if (kept === undefined) this.#kept.set(name, [{ value, mail }])
    else kept.push({ value, mail })
  }

  /** The oldest signal of a name that no job has got. */
  takeKept(name: string): ReceivedSignal | undefined {
    const kept = this.#kept.get(name)
    const first = kept?.shift()
    if (kept?.length === 0) this.#kept.delete(name)
    return first
  }

  /** Calls back with the next signal of a name, once. */
  wait(name: string, onSignal: (signal: ReceivedSignal) => void): void {
    const waiting = this.#waiting.get(name)
    if (waiting === undefined) this.#waiting.set(name, new Set([onSignal]))
    else waiting.add(onSignal)
  }

  forget(name: string, onSignal: (signal: ReceivedSignal) => void): void {
    const waiting = this.#waiting.get(name)
    waiting?.delete(onSignal)
    if (waiting?.size === 0) this.#waiting.delete(name)
  }
}
