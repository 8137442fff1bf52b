/**
 * Sends bytes with ETag, 304 and Range; above 256 kB as a stream, with back-pressure.
 *
 * S1. The parts are never joined: a reader of 30 MB costs the loop some slices of 64 kB, not a copy of the whole.
 * S2. In one turn of the loop at most 32 answers begin, and none after 4 ms; of the delayed ones 8 begin in a turn. So a
 *     thousand callers that wait for one result are answered in slices.
 * S3. In one turn of the loop at most 16 pieces of large answers are sent, of all readers together. They wait in a line of
 *     their own: small answers do not wait behind them.
 */
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '@heddle/core/lowlevel'

export interface Sent {
  readonly type: string
  /** Sent one after the other. */
  readonly parts: readonly Uint8Array[]
  /** Whether they are UTF-8 together. */
  readonly isText?: boolean
  /** The tag with its quotes. Without one the answer has no ETag and no ranges. */
  readonly etag?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** Bytes that are handed to the system in one piece. */
const streamFrom = 256 * 1_024
/** Bytes of a text for which writing it twice costs less than a second write. */
const textUpTo = 4_096
const pieceSize = 64 * 1_024

export function sendBytes(
  request: FastifyRequest,
  reply: FastifyReply,
  sent: Sent,
  { pieces: turns }: Sending,
): FastifyReply {
  const { type, parts, etag, headers = {} } = sent
  const total = parts.reduce((sum, part) => sum + part.length, 0)
  void reply.headers(headers)
  if (etag !== undefined) {
    void reply.headers({ etag, 'accept-ranges': 'bytes', 'cache-control': 'private, no-cache' })
    if (etagMatches(request.headers['if-none-match'], etag)) return reply.code(304).send()
  }
  const range = etag === undefined ? undefined : rangeOf(request, etag, total)
  if (range === 'unsatisfiable') return refuseRange(reply, total)
  const { from, to } = range ?? { from: 0, to: total }
  if (range !== undefined) {
    void reply.code(206).header('content-range', `bytes ${from}-${to - 1}/${total}`)
  }
  void reply.type(type).header('content-length', to - from)
  // A short text goes to the system in one write with the head of the answer; bytes go in a second one.
  if (sent.isText === true && range === undefined && total <= textUpTo) {
    return reply.send(Buffer.concat(parts).toString())
  }
  const pieces = cut(parts, from, to)
  if (to - from < streamFrom) return reply.send(Buffer.concat([...pieces]))
  // A stream that has nothing: one of all pieces would be read to its end, and dropped.
  const paced = request.method === 'HEAD' ? [] : inTurns(pieces, turns)
  return reply.send(Readable.from(paced, { objectMode: false, highWaterMark: pieceSize }))
}

/** *Cancellation*: none: a stream that is destroyed takes no more. *Fairness*: as {@link SendTurns}. */
export async function* inTurns<T>(pieces: Iterable<T>, turns: SendTurns): AsyncGenerator<T> {
  for (const piece of pieces) {
    if (!turns.tryEnter()) await turns.wait()
    yield piece
  }
}

/** The answer to a range that the bytes do not have. */
export function refuseRange(reply: FastifyReply, total: number): FastifyReply {
  return reply
    .code(416)
    .header('content-range', `bytes */${total}`)
    .send({
      error: {
        code: 'bad_request',
        message: `Range: expected bytes between 0 and ${total - 1}.`,
        retryable: false,
      },
    })
}

/** `If-None-Match` with a list, weak tags or `*`. */
export function etagMatches(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  return header.split(',').some((one) => {
    const tag = one.trim()
    return tag === '*' || tag.replace(/^W\//, '') === etag
  })
}

interface Range {
  readonly from: number
  /** Exclusive. */
  readonly to: number
}

/** One range of bytes; several ranges, and those for another version, are answered with the whole (RFC 9110, 14.2). */
export function rangeOf(
  { headers }: FastifyRequest,
  etag: string,
  total: number,
): Range | 'unsatisfiable' | undefined {
  const { range, 'if-range': condition } = headers
  if (range === undefined || (condition !== undefined && condition !== etag)) return undefined
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(range) ?? []
  if (first === '' && last === '') return undefined
  if (first === '') {
    const length = Math.min(Number(last), total)
    return length === 0 ? 'unsatisfiable' : { from: total - length, to: total }
  }
  const from = Number(first)
  const to = last === '' ? total : Math.min(Number(last) + 1, total)
  if (last !== '' && Number(last) < from) return undefined
  return from >= total ? 'unsatisfiable' : { from, to }
}

/** The bytes from one place to another, in pieces, without a copy (S1). */
function* cut(parts: readonly Uint8Array[], from: number, to: number): Generator<Uint8Array> {
  let at = 0
  for (const part of parts) {
    const start = Math.max(from - at, 0)
    const end = Math.min(to - at, part.length)
    for (let next = start; next < end; next += pieceSize) {
      yield part.subarray(next, Math.min(next + pieceSize, end))
    }
    at += part.length
  }
}

/** Answers that begin in one turn of the loop, in how many milliseconds, and how many of the delayed ones. */
const beginsPerTurn = 32
const beginsWithin = 4
const wakesPerTurn = 8
/** Pieces of large answers that are sent in one turn. */
const piecesPerTurn = 16

/** The lines in which answers wait for a turn of the loop. */
export class Sending {
  readonly begins: SendTurns
  readonly pieces: SendTurns

  constructor(clock: Clock) {
    this.begins = new SendTurns(clock, beginsPerTurn, wakesPerTurn, beginsWithin)
    this.pieces = new SendTurns(clock, piecesPerTurn)
  }
}

/** Lets callers through, a number in each turn of the loop, in the order in which they came (S2, S3). */
export class SendTurns {
  readonly #clock: Clock
  readonly #perTurn: number
  readonly #wakes: number
  readonly #within: number
  readonly #waiting: (() => void)[] = []
  #begun = 0
  #since = 0

  /**
   * @param wakes How many delayed callers go in one turn: their work comes after all of them were let through, so it
   * cannot be timed.
   * @param within Milliseconds from the first one of a turn on.
   */
  constructor(clock: Clock, perTurn: number, wakes: number = perTurn, within: number = Infinity) {
    this.#clock = clock
    this.#perTurn = perTurn
    this.#wakes = wakes
    this.#within = within
  }

  /** True when the caller may begin in this turn; else {@link wait}. */
  tryEnter(): boolean {
    if (this.#waiting.length > 0 || this.#begun >= this.#perTurn) return false
    if (this.#begun === 0) {
      this.#since = this.#clock.now()
      this.#clock.afterIo(this.#turn)
    } else if (this.#clock.now() - this.#since >= this.#within) return false
    this.#begun++
    return true
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** *Cancellation*: none: it is a matter of turns. *Fairness*: first come, first served. */
  wait(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  readonly #turn = (): void => {
    this.#begun = Math.min(this.#wakes, this.#waiting.length)
    if (this.#begun > 0) {
      this.#since = this.#clock.now()
      this.#clock.afterIo(this.#turn)
    }
    for (const goOn of this.#waiting.splice(0, this.#begun)) goOn()
  }
}
