/**
 * Whether somebody still waits for the answer.
 *
 * Looked at on the side of the response: the request is over as soon as its body was read, and a client
 * that has sent everything may close its half of the connection and go on reading.
 *
 * Prior art: Fastify 5's `request.signal` aborts as soon as the body of a POST was read, and `handlerTimeout`
 * and `onRequestAbort` never act then. A test says when that is repaired, so that this file can go.
 */
import type { ServerResponse } from 'node:http'
import { HeddleError } from '@heddle/core'

/** Aborts when the connection ends before the answer was sent, and never after. */
export function clientGone(response: ServerResponse, request: string): AbortSignal {
  const controller = new AbortController()
  response.once('close', () => {
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
