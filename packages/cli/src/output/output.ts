/**
 * Writing to a stream that may go away.
 *
 * The reader of a pipe may leave (`| head`), a terminal may be closed. The run continues: printing
 * is not its purpose. From then on nothing is written, and nothing reports it.
 *
 * With a clock, all output of one turn of the loop becomes one write: a file takes 6 µs for each,
 * on the loop, and 100,000 short jobs print 200,000 lines.
 */
import type { Clock } from '@heddle/core/lowlevel'

/** Characters: a batch of this size is written at once, a smaller one at the end of the turn. */
const largestBatch = 65_536

export interface OutputStream {
  write(text: string, callback?: (error?: Error | null) => void): boolean
  on(event: 'error', listener: (error: Error) => void): unknown
}

export class Output {
  readonly #stream: OutputStream
  readonly #clock: Clock | undefined
  #gone = false
  #pending = ''

  constructor(stream: OutputStream, clock?: Clock) {
    this.#stream = stream
    this.#clock = clock
    stream.on('error', () => (this.#gone = true))
  }

  /** Whether the reader has left. */
  get gone(): boolean {
    return this.#gone
  }

  readonly write = (text: string): void => {
    if (this.#gone) return
    if (this.#clock === undefined) return void this.#stream.write(text)
    if (this.#pending === '') this.#clock.afterIo(this.drain)
    this.#pending += text
    if (this.#pending.length >= largestBatch) this.drain()
  }

  /** Writes buffered text now: other code is about to write, or the process ends. */
  readonly drain = (): void => {
    if (this.#pending === '' || this.#gone) return
    const text = this.#pending
    this.#pending = ''
    this.#stream.write(text)
  }

  line(text: string): void {
    this.write(`${text}\n`)
  }

  /**
   * Waits until the reader has everything: a process that exits loses unsent output.
   *
   * *Cancellation*: none; it ends when the reader has read or has left.
   */
  flush(): Promise<void> {
    this.drain()
    if (this.#gone) return Promise.resolve()
    return new Promise((resolve) => {
      this.#stream.on('error', () => resolve())
      this.#stream.write('', () => resolve())
    })
  }
}
