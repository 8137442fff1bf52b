/**
 * The lines of `ctx.log()`, and what `ctx.progress()` reports, on their way from a thread to the loop.
 *
 * The thread posts lines; the loop hands them out and says, in the next turn, how much it has read.
 * Both count in weights: one for each line and one more for every 256 characters.
 *
 * ```
 *   unread below `prompt`            each line is posted at once
 *   unread below `window`            lines are posted in batches
 *   unread at `window`               log() waits until the loop has read some of it
 *   the loop reads nothing for `longestWait`   lines are dropped and counted
 * ```
 *
 * Invariants, quoted by the tests:
 *  G1  Lines arrive in order, and before the result of their job.
 *  G2  The loop reads at most the window and two batches of a thread in one turn (one line may be longer).
 *  G3  No line is dropped silently: a line in its place says how many were.
 *
 * Known limit: a job that does not return to its event loop after a burst of lines may keep the last
 * of them, less than one batch, until its next line or its end.
 */
import type { Clock } from '../kernel/clock.ts'
import type { Ticket } from './task-ownership.ts'

/** Unread weight below which a line does not wait for company. */
const prompt = 32
/** Weight of a batch. */
const batch = 64
/** Unread weight at which a job waits: the loop reads it in about a millisecond. */
export const logWindow = 512
/** Milliseconds that a job waits for a loop which reads nothing. */
const longestWait = 1000

const readWord = 0

export type LogWords = Int32Array<SharedArrayBuffer>

/** Lines, three fields each: ticket, fraction (undefined for a line of a log), text. */
export type LogLines = (number | string | undefined)[]
const lineFields = 3

/** Takes one line of a log, or one report of progress when there is a fraction. */
export type OnLine = (
  ticket: Ticket,
  fraction: number | undefined,
  text: string | undefined,
) => void

function createLogWords(): LogWords {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
}

function weightOf(text: string | undefined): number {
  return text === undefined ? 1 : 1 + (text.length >>> 8)
}

/** The thread's side. */
export class LogWriter {
  readonly #words: LogWords
  readonly #clock: Clock
  readonly #post: (lines: LogLines) => void
  readonly #longestWait: number
  #lines: LogLines = []
  #weight = 0
  /** Weight posted so far; wraps as the word of the loop does. */
  #posted = 0
  #isFlushPlanned = false
  /** The loop did not read: nothing is waited for until it does. */
  #isStalled = false
  #dropped = 0
  #droppedBy: Ticket = 0

  constructor(
    words: LogWords,
    clock: Clock,
    post: (lines: LogLines) => void,
    wait: number = longestWait,
  ) {
    this.#words = words
    this.#clock = clock
    this.#post = post
    this.#longestWait = wait
  }

  write(ticket: Ticket, line: string): void {
    this.#enter(ticket, undefined, line)
  }

  report(ticket: Ticket, fraction: number, text: string | undefined): void {
    this.#enter(ticket, fraction, text)
  }

  #enter(ticket: Ticket, fraction: number | undefined, text: string | undefined): void {
    const unread = this.#unread()
    if (this.#isStalled) {
      if (unread >= logWindow) {
        if (this.#dropped > 0 && this.#droppedBy !== ticket) this.#noteDropped()
        this.#dropped++
        this.#droppedBy = ticket
        return
      }
      this.#isStalled = false
      this.#noteDropped()
    }
    this.#add(ticket, fraction, text)
    if (unread < prompt) this.flush()
    else if (this.#weight < batch) this.#planFlush()
    else {
      this.#isStalled = !this.#waitForLoop()
      this.flush()
    }
  }

  /** Posts waiting lines: when a job ends, and when the thread returns to its event loop. */
  flush(): void {
    this.#noteDropped()
    if (this.#lines.length === 0) return
    const lines = this.#lines
    this.#posted = (this.#posted + this.#weight) | 0
    this.#lines = []
    this.#weight = 0
    this.#post(lines)
  }

  #add(ticket: Ticket, fraction: number | undefined, text: string | undefined): void {
    this.#lines.push(ticket, fraction, text)
    this.#weight += weightOf(text)
  }

  #noteDropped(): void {
    if (this.#dropped === 0) return
    const count = this.#dropped === 1 ? 'A line was' : `${this.#dropped} lines were`
    const text = `${count} dropped here: the event loop did not read them.`
    this.#add(this.#droppedBy, undefined, text)
    this.#dropped = 0
  }

  #unread(): number {
    return (this.#posted - Atomics.load(this.#words, readWord)) | 0
  }

  /** False when the loop has read nothing for too long. */
  #waitForLoop(): boolean {
    while (this.#unread() >= logWindow) {
      const seen = Atomics.load(this.#words, readWord)
      if (this.#unread() < logWindow) break
      if (Atomics.wait(this.#words, readWord, seen, this.#longestWait) === 'timed-out') return false
    }
    return true
  }

  #planFlush(): void {
    if (this.#isFlushPlanned) return
    this.#isFlushPlanned = true
    this.#clock.afterIo(() => {
      this.#isFlushPlanned = false
      this.flush()
    })
  }
}

/** The loop's side. */
export class LogReader {
  readonly words = createLogWords()
  readonly #clock: Clock
  #read = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Calls `onLine` with each line. The thread is notified in the next turn, so that this one ends (G2). */
  read(lines: LogLines, onLine: OnLine): void {
    if (this.#read === 0) this.#clock.afterIo(() => this.#acknowledge())
    for (let at = 0; at < lines.length; at += lineFields) {
      const text = lines[at + 2] as string | undefined
      this.#read += weightOf(text)
      onLine(lines[at] as Ticket, lines[at + 1] as number | undefined, text)
    }
  }

  #acknowledge(): void {
    Atomics.add(this.words, readWord, this.#read)
    Atomics.notify(this.words, readWord)
    this.#read = 0
  }
}
