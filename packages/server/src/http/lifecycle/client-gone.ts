/**
 * Whether a caller still waits for the answer.
 *
 *   here ── answer sent ─▶ served                 here ── connection ends ─▶ gone
 *     └── the client closes its half ─▶ asked ── it has left ─▶ gone
 *                                         └── answer sent ─▶ served
 *
 * Looked at on the side of the response: the request is over as soon as its body was read.
 *
 * A client that has sent everything may close its half of the connection and continue to read. One that has
 * left looks the same from here. The difference shows when something is sent: a system whose program has
 * left answers with a reset. So it is sent what HTTP has for "wait": an interim answer (102), which
 * clients pass over. The second one finds the reset that the first one caused; the later ones are for clients
 * that are far away, or that leave later.
 *
 * Known limit: HTTP/1.0 has no interim answers; there a closed half means gone.
 *
 * Prior art: Fastify 5's `request.signal` aborts as soon as the body of a POST was read, and `handlerTimeout`
 * and `onRequestAbort` never act then. A test says when that is repaired, so that this file can go.
 */
import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { HeddleError } from '@heddle/core'
import type { Clock, Timer } from '@heddle/core/lowlevel'

/** Milliseconds between two interim answers: the first pause, and its limit after doubling. */
const shortestPause = 20
const longestPause = 5_000

/** Lets clients close their half of a connection before they were answered. */
export function allowHalfClosed(server: Server): void {
  // Node has it since its beginnings, and no type for it.
  ;(server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true
}

/** Aborts when the connection ends before the answer was sent, and never after. */
export function clientGone(response: ServerResponse, request: string, clock: Clock): AbortSignal {
  const controller = new AbortController()
  let timer: Timer | undefined
  const ask = (): void => askIfThere(response, clock, (next) => (timer = next))
  // Taken from the request: a response has the socket only when those before it on the connection
  // were sent.
  const { socket } = response.req
  const asking = askersOf(socket).add(ask)
  if (socket.readableEnded) ask()
  response.once('close', () => {
    asking.delete(ask)
    timer?.cancel()
    if (response.writableFinished) return
    controller.abort(
      new HeddleError('HDL_CANCELLED', {
        what: `Request ${request}`,
        source: 'disconnect',
        reason: 'the client closed the connection',
      }),
    )
  })
  return controller.signal
}

/** Callbacks for a client that closes its half, keyed by connection, which may carry many requests. */
const askers = new WeakMap<Socket, Set<() => void>>()

function askersOf(socket: Socket): Set<() => void> {
  const known = askers.get(socket)
  if (known !== undefined) return known
  const made = new Set<() => void>()
  askers.set(socket, made)
  socket.once('end', () => {
    for (const ask of made) ask()
  })
  return made
}

function askIfThere(response: ServerResponse, clock: Clock, keep: (timer: Timer) => void): void {
  if (response.req.httpVersion === '1.0') return void response.destroy()
  const again = (pause: number): void => {
    if (response.headersSent || response.closed) return
    response.writeProcessing(() => {
      if (response.closed) return
      if (pause === 0) again(shortestPause)
      else keep(clock.setTimer(pause, () => again(Math.min(2 * pause, longestPause))))
    })
  }
  again(0)
}
