/**
 * Bodies of requests that are still on their way.
 *
 *   head ── the body came with it ─▶ arrived                              (takes nothing here)
 *     └── it did not ─▶ arriving ── the last byte ─▶ arrived
 *                          ├── the limit ─▶ late: 408, and the connection ends
 *                          ├── all seats are taken, and it is the slowest ─▶ displaced: 503, and the connection ends
 *                          └── the client leaves ─▶ gone
 *
 * A1. At most `most` bodies are arriving. They are counted here and nowhere else: a seat of a stage is taken when the
 *     body is there. So slow senders take no seat of a complete request.
 * A2. Every arriving body has a deadline; also the body of a request that was answered before it came.
 * A3. When all seats are taken, a new body gets the seat of the slowest one (bytes by time), if that has had at
 *     least `patience` milliseconds. If there is none the new one is refused: then many send fast.
 * A4. After 408 and 503 the connection is destroyed: when the answer was handed to the system, and at the latest after
 *     a second, whatever the client does.
 * A5. A seat comes back exactly once, in the step in which the body arrives, is late, is displaced or has gone.
 *
 * The head of a request is watched by Node's parser, which is the only one that sees its first byte.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { HeddleError } from '@heddle/core'
import { SeatRate, systemKernel, type Clock, type Random, type Timer } from '@heddle/core/lowlevel'

export interface ArrivalOptions {
  /** Bodies that may be arriving. */
  readonly most: number
  /** Milliseconds from the head of a request to the last byte of its body. */
  readonly limit: number
  readonly clock: Clock
  readonly random?: Random
}

export interface ArrivalStats {
  readonly arriving: number
  readonly capacity: number
  /** Took longer than the limit. */
  readonly late: number
  /** Gave their seat to another one. */
  readonly displaced: number
  /** Found no seat. */
  readonly refused: number
}

interface Arriving {
  readonly message: IncomingMessage
  readonly since: number
  /** Bytes of the connection when the head was read. */
  readonly bytesBefore: number
  /** Answers the request, if it was not answered yet. */
  readonly fail: (error: HeddleError) => void
  readonly timer: Timer
  readonly leave: () => void
}

/** Milliseconds that the slowest body has had before it is displaced. */
const patience = 100
/** Milliseconds for a last answer to leave, before its connection is destroyed. */
const lastAnswer = 1_000

export class Arrivals {
  readonly #options: ArrivalOptions
  readonly #arriving = new Set<Arriving>()
  readonly #rate: SeatRate
  #late = 0
  #displaced = 0
  #refused = 0

  constructor(options: ArrivalOptions) {
    this.#options = options
    const { clock, random = systemKernel.random } = options
    this.#rate = new SeatRate({ kernel: { clock, random } })
  }

  /**
   * Takes a seat for a body that is still on its way. To be called when the bytes that came with the head were read.
   *
   * @param fail Answers the request with an error and `Connection: close`, if it was not answered yet.
   * @throws `HDL_OVERLOADED` when there is no seat.
   */
  watch(message: IncomingMessage, fail: (error: HeddleError) => void): void {
    if (message.complete || message.destroyed) return
    const { clock, limit, most } = this.#options
    if (this.#arriving.size >= most && !this.#displaceSlowest()) {
      this.#refused++
      endConnection(message.socket, clock)
      throw this.#overloaded()
    }
    const arriving: Arriving = {
      message,
      since: clock.now(),
      bytesBefore: message.socket.bytesRead,
      fail,
      timer: clock.setTimer(limit, () => this.#onLate(arriving)),
      leave: () => void this.#leave(arriving),
    }
    this.#arriving.add(arriving)
    this.#rate.taken()
    message.once('end', arriving.leave)
    // Listens on the connection: a message that was answered before it was read gets no answer.
    message.socket.once('close', arriving.leave)
  }

  stats(): ArrivalStats {
    return {
      arriving: this.#arriving.size,
      capacity: this.#options.most,
      late: this.#late,
      displaced: this.#displaced,
      refused: this.#refused,
    }
  }

  #onLate(arriving: Arriving): void {
    if (!this.#leave(arriving)) return
    // It is there, and waits to be read.
    if (arriving.message.complete) return
    this.#late++
    const what = 'The body of the request'
    const { limit } = this.#options
    this.#end(arriving, new HeddleError('HDL_TIMEOUT', { what, limit, stage: 'arrival' }))
  }

  /** A3. False when nothing was displaced. */
  #displaceSlowest(): boolean {
    const now = this.#options.clock.now()
    const speed = ({ message, since, bytesBefore }: Arriving): number =>
      (message.socket.bytesRead - bytesBefore) / (now - since)
    let slowest: Arriving | undefined
    for (const arriving of this.#arriving) {
      // In the order of their arrival: those behind it are younger.
      if (now - arriving.since < patience) break
      if (slowest === undefined || speed(arriving) < speed(slowest)) slowest = arriving
    }
    if (slowest === undefined || !this.#leave(slowest)) return false
    this.#displaced++
    this.#end(slowest, this.#overloaded())
    return true
  }

  #end({ message, fail }: Arriving, error: HeddleError): void {
    const { socket } = message
    fail(error)
    endConnection(socket, this.#options.clock)
  }

  /** A5. */
  #leave(arriving: Arriving): boolean {
    const { message, timer, leave } = arriving
    timer.cancel()
    message.off('end', leave)
    message.socket.off('close', leave)
    const isFreed = this.#arriving.delete(arriving)
    if (isFreed) this.#rate.freed()
    return isFreed
  }

  #overloaded(): HeddleError {
    const retryAfter = this.#rate.retryAfter()
    return new HeddleError('HDL_OVERLOADED', { what: 'The room for slow bodies', retryAfter })
  }
}

/** A4: unsent bytes have a second to leave. */
export function endConnection(socket: Socket, clock: Clock): void {
  if (socket.destroyed) return
  const timer = clock.setTimer(lastAnswer, () => socket.destroy())
  socket.once('close', () => timer.cancel())
}
