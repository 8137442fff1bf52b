/**
 * Writing to a stream that may go away.
 *
 * The reader of a pipe may leave (`| head`), a terminal may be closed. The run goes on: what it prints
 * is not what it is for. From then on nothing is written, and nobody is told.
 */
export interface OutputStream {
  write(text: string, callback?: (error?: Error | null) => void): boolean
  on(event: 'error', listener: (error: Error) => void): unknown
}

export class Output {
  readonly #stream: OutputStream
  #gone = false

  constructor(stream: OutputStream) {
    this.#stream = stream
    stream.on('error', () => (this.#gone = true))
  }

  /** Whether the reader has left. */
  get gone(): boolean {
    return this.#gone
  }

  readonly write = (text: string): void => {
    if (!this.#gone) this.#stream.write(text)
  }

  line(text: string): void {
    this.write(`${text}\n`)
  }

  /**
   * Waits until everything is with the reader: a process that exits takes with it what is not.
   *
   * *Cancellation*: none; it ends when the reader has read or has left.
   */
  flush(): Promise<void> {
    if (this.#gone) return Promise.resolve()
    return new Promise((resolve) => {
      this.#stream.on('error', () => resolve())
      this.#stream.write('', () => resolve())
    })
  }
}
