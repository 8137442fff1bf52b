/**
 * The HTTP servers below the routes: one for each address that is listened on, all with the same limits.
 *
 * Made here and not by Fastify, which sets Node's limits when the server exists: by then Node has decided to look for
 * slow heads every 30 seconds. For the name `localhost`, Fastify would also make a second server by itself that none
 * of our listeners is on.
 */
import { STATUS_CODES, createServer, type RequestListener, type Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '@heddle/core/lowlevel'
import type { LogEvent } from '../log/log-event.ts'
import { endConnection } from './lifecycle/arrivals.ts'
import { allowHalfClosed } from './lifecycle/client-gone.ts'
import type { Connections } from './lifecycle/connections.ts'
import { keepBodiesBack } from './lifecycle/expected-bodies.ts'
import type { OpenResponses } from './lifecycle/open-responses.ts'
import { RequestTurns } from './lifecycle/request-turns.ts'
import { toConnectionError } from './http-error.ts'

export interface HttpServerOptions {
  /** Milliseconds in which the head of a request must have arrived, from its first byte or from the connection on. */
  readonly headLimit: number
  readonly connections: Connections
  readonly open: OpenResponses
  readonly clock: Clock
  /** Writes a line of the structured log. */
  readonly note: (event: LogEvent) => void
}

/**
 * Milliseconds that a connection may be idle between two requests: longer than the minute of most proxies, and longer than a worker
 * of the fleet waits between two beats (120 s), so that a beat does not need a connection of its own.
 */
const idleLimit = 150_000

/** Milliseconds between two searches for slow heads, at most. */
const longestLook = 1_000

export function makeHttpServer(listener: RequestListener, options: HttpServerOptions): Server {
  const { headLimit, connections, open, clock } = options
  const turns = new RequestTurns(listener, {
    clock,
    onWait: (response) => {
      open.add(response)
      connections.begin(response)
    },
  })
  const server = createServer(
    {
      headersTimeout: headLimit,
      // Bodies have their own limit, on the injected clock.
      requestTimeout: 0,
      connectionsCheckingInterval: Math.min(longestLook, Math.ceil(headLimit / 4)),
      keepAliveTimeout: idleLimit,
    },
    turns.listener,
  )
  allowHalfClosed(server)
  keepBodiesBack(server, turns.listener)
  connections.follow(server)
  server.on('clientError', (error: Error & { readonly code?: string }, socket: Socket) =>
    refuseBytes(error, socket, options),
  )
  return server
}

/** Answers bytes that are not a request, and ends their connection. */
function refuseBytes(
  error: Error & { readonly code?: string },
  socket: Socket,
  { open, clock, note }: HttpServerOptions,
): void {
  // Another request of this connection waits for its answer: this one would be taken for it.
  const isOtherOpen = open.of(socket).some(({ req, headersSent }) => req.complete || headersSent)
  if (error.code === 'ECONNRESET' || !socket.writable || isOtherOpen) return void socket.destroy()
  const { status, body } = toConnectionError(error)
  const text = JSON.stringify(body)
  const event = status === 408 ? 'timeout' : 'refused'
  note({ event, status, code: body.error.code, address: socket.remoteAddress })
  socket.write(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
  )
  // Also from a client that closes nothing: half closed, it would stay for as long as it likes.
  socket.destroySoon()
  endConnection(socket, clock)
}
