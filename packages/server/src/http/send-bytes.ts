/**
 * Sends bytes with ETag, 304 and Range; above 256 kB as a stream, with back-pressure.
 *
 * S1. The parts are never joined: a reader of 30 MB costs the loop some slices of 64 kB, not a copy of the whole.
 * S2. In one turn of the loop at most 32 answers begin: a thousand callers that wait for one result are answered in slices.
 */
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '@heddle/core/lowlevel'

export interface Sent {
  readonly type: string
  /** Sent one after the other. */
  readonly parts: readonly Uint8Array[]
  /** With its quotes. Absent: it has none, and no ranges. */
  readonly etag?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** Bytes that are handed to the system in one piece. */
const streamFrom = 256 * 1_024
const pieceSize = 64 * 1_024

export function sendBytes(request: FastifyRequest, reply: FastifyReply, sent: Sent): FastifyReply {
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
  const pieces = cut(parts, from, to)
  if (to - from < streamFrom) return reply.send(Buffer.concat([...pieces]))
  return reply.send(Readable.from(pieces, { objectMode: false, highWaterMark: pieceSize }))
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

/** Answers that begin in one turn of the loop. */
const perTurn = 32

/** Lets callers through, so many in each turn of the loop, in the order in which they came (S2). */
export class SendTurns {
  readonly #clock: Clock
  readonly #waiting: (() => void)[] = []
  #begun = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** True when the caller may begin in this turn; else {@link wait}. */
  tryEnter(): boolean {
    if (this.#waiting.length > 0 || this.#begun >= perTurn) return false
    if (this.#begun++ === 0) this.#clock.afterIo(this.#turn)
    return true
  }

  /** *Cancellation*: none: it is a matter of turns. *Fairness*: first come, first served. */
  wait(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  readonly #turn = (): void => {
    this.#begun = Math.min(perTurn, this.#waiting.length)
    if (this.#begun > 0) this.#clock.afterIo(this.#turn)
    for (const goOn of this.#waiting.splice(0, perTurn)) goOn()
  }
}
