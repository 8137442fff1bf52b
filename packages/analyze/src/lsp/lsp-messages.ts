/**
 * Messages of the language server protocol on a stream of bytes: a head with the length, then JSON.
 *
 * M1. Messages come out whole and in order, however the bytes were cut.
 * M2. A head without a length, or with one above the limit, is an error, and nothing is read after it: where the
 *     next message starts is not known.
 * M3. A body that is not JSON is reported and left out; the next message is read.
 */

/** Above this a length is taken for a mistake. */
const longest = 64 * 1024 * 1024
const endOfHead = Buffer.from('\r\n\r\n')
const longestHead = 4_096

export interface MessageEvents {
  onMessage(message: unknown): void
  /** @param isFinal Nothing can be read any more. */
  onError(text: string, isFinal: boolean): void
}

export class MessageReader {
  readonly #events: MessageEvents
  #chunks: Buffer[] = []
  #size = 0
  /** Length of the body that is awaited; undefined while a head is. */
  #wanted: number | undefined
  #isBroken = false

  constructor(events: MessageEvents) {
    this.#events = events
  }

  push(chunk: Uint8Array): void {
    if (this.#isBroken) return
    this.#chunks.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))
    this.#size += chunk.byteLength
    while (this.#takeOne());
  }

  #takeOne(): boolean {
    if (this.#wanted === undefined && !this.#takeHead()) return false
    const wanted = this.#wanted!
    if (this.#size < wanted) return false
    const all = this.#joined()
    this.#keep(all.subarray(wanted))
    this.#wanted = undefined
    this.#tell(all.toString('utf8', 0, wanted))
    return true
  }

  #takeHead(): boolean {
    if (this.#size === 0) return false
    const all = this.#joined()
    const end = all.indexOf(endOfHead)
    if (end === -1) {
      if (all.length > longestHead) this.#fail('The head of a message does not end.')
      return false
    }
    const length = /^content-length:[ \t]*(\d{1,9})[ \t]*$/im.exec(
      all.toString('latin1', 0, end),
    )?.[1]
    if (length === undefined || Number(length) > longest) {
      this.#fail('The head of a message has no length, or one that is too large.')
      return false
    }
    this.#wanted = Number(length)
    this.#keep(all.subarray(end + endOfHead.length))
    return true
  }

  #tell(body: string): void {
    let message: unknown
    try {
      message = JSON.parse(body)
    } catch {
      this.#events.onError('A message is not JSON.', false)
      return
    }
    this.#events.onMessage(message)
  }

  #fail(text: string): void {
    this.#isBroken = true
    this.#chunks = []
    this.#events.onError(text, true)
  }

  #joined(): Buffer {
    const [first] = this.#chunks
    if (first !== undefined && this.#chunks.length === 1) return first
    const all = Buffer.concat(this.#chunks, this.#size)
    this.#chunks = [all]
    return all
  }

  #keep(rest: Buffer): void {
    this.#chunks = rest.length === 0 ? [] : [rest]
    this.#size = rest.length
  }
}

/** A message with its head. */
export function framed(message: object): Buffer {
  const body = Buffer.from(JSON.stringify(message))
  return Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), body])
}
