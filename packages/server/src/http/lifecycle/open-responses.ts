/**
 * Answers that a caller still reads.
 *
 *   open ── handed to the system as a whole ─▶ closed        open ── connection ends ─▶ closed
 *
 * Node takes a connection for idle as soon as its answer was written to the stream, not when it was sent. A
 * server that is closed then cuts an answer that its client reads slowly. So closing waits here first.
 *
 * Kept by connection: an answer behind another one on the same connection has no socket yet, and gets no
 * event when the connection ends.
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '@heddle/core/lowlevel'

export class OpenResponses {
  readonly #byConnection = new Map<Socket, Set<ServerResponse>>()
  readonly #sendLimit: number
  #open = 0
  #onNone: () => void = () => undefined

  /** @param sendLimit Milliseconds in which a client must take some more of an answer. */
  constructor(sendLimit: number) {
    this.#sendLimit = sendLimit
  }

  /** From the first moment of its request on. */
  add(response: ServerResponse): void {
    const { socket } = response.req
    const ofConnection = this.#ofConnection(socket)
    ofConnection.add(response)
    this.#open++
    // A client that does not read keeps an answer, and its memory. Node ends the time when the answer was sent.
    const limitSending = (): void => void socket.setTimeout(this.#sendLimit)
    response.once('prefinish', limitSending)
    // A stream waits for its reader, so its end may never come.
    response.once('pipe', limitSending)
    response.once('close', () => {
      if (ofConnection.delete(response)) this.#closed(1)
    })
  }

  has(response: ServerResponse): boolean {
    return this.#byConnection.get(response.req.socket)?.has(response) === true
  }

  *all(): Generator<ServerResponse> {
    for (const responses of this.#byConnection.values()) yield* responses
  }

  /** Those of one connection. */
  of(socket: Socket): ServerResponse[] {
    return [...(this.#byConnection.get(socket) ?? [])]
  }

  /**
   * Resolves when none is open, or after `limit` milliseconds.
   *
   * *Cancellation*: none: the limit is short.
   */
  async settled(limit: number, clock: Clock): Promise<void> {
    if (this.#open === 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = clock.setTimer(limit, resolve)
    this.#onNone = resolve
    await promise
    timer.cancel()
  }

  #ofConnection(socket: Socket): Set<ServerResponse> {
    const known = this.#byConnection.get(socket)
    if (known !== undefined) return known
    const made = new Set<ServerResponse>()
    this.#byConnection.set(socket, made)
    socket.once('close', () => {
      this.#byConnection.delete(socket)
      this.#closed(made.size)
      made.clear()
    })
    return made
  }

  #closed(count: number): void {
    this.#open -= count
    if (this.#open === 0) this.#onNone()
  }
}
