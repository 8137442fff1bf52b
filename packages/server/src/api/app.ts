/** The HTTP server: routes, errors, limits. */
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import { isError } from '@heddle/core'
import { runBlamed } from '@heddle/core/lowlevel'
import type { OpenResponses } from '../lifecycle/open-responses.ts'
import { adminRoutes } from './admin.ts'
import type { ApiContext } from './context.ts'
import { refuseForeignPages } from './browsers.ts'
import { healthRoutes } from './health.ts'
import { toConnectionError, toHttpError, type ErrorBody } from './http-error.ts'
import { jobRoutes } from './jobs.ts'
import { openApi } from './openapi.ts'
import { newRequestId } from './read-request.ts'
import { resultRoutes } from './results.ts'

export interface AppOptions {
  /** Bytes of a body. */
  readonly bodyLimit: number
  /** Milliseconds in which a request must have arrived. */
  readonly arrivalLimit: number
  /** Told every answer. */
  readonly open: OpenResponses
  /** What the server listens on. */
  readonly host: string
}

export function makeApp(context: ApiContext, options: AppOptions): FastifyInstance {
  const tell = (error: unknown, reply: FastifyReply): FastifyReply => {
    const { status, body } = toHttpError(error)
    if (isError(error, 'HDL_STORE_FAILED')) context.storeWatch.look()
    return reply
      .code(status)
      .headers(headersOf(status, body, context))
      .send(body)
  }
  const app = Fastify({
    bodyLimit: options.bodyLimit,
    requestTimeout: options.arrivalLimit,
    genReqId: newRequestId,
    requestIdHeader: false,
    // Draining answers by itself, in JSON, for as long as there are connections.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 256 },
    // What is wrong before there is a route, or a request, is told in the same form.
    frameworkErrors: (error, _, reply) => void tell(error, reply),
    clientErrorHandler: refuseConnection,
    logger: false,
  })
  // Parsed where it is known how large it may be.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_, body, done) =>
    done(null, body),
  )
  app.setErrorHandler((error, _, reply) => tell(error, reply))
  app.setNotFoundHandler((request, reply) =>
    reply.code(404).send({
      error: {
        code: 'not_found',
        message: `There is no ${request.method} ${request.url.split('?')[0]}. GET /openapi.json lists what there is.`,
        retryable: false,
      },
    } satisfies ErrorBody),
  )
  app.addHook('onRequest', (_, reply, done) => {
    options.open.add(reply.raw)
    done()
  })
  // What blocks the loop is told by its route.
  app.addHook('onRequest', (request, _, done) =>
    runBlamed(`${request.method} ${request.routeOptions.url ?? 'unknown route'}`, done),
  )
  refuseForeignPages(app, options.host)
  jobRoutes(app, context)
  resultRoutes(app, context)
  adminRoutes(app, context)
  healthRoutes(app, context)
  app.get('/openapi.json', () => openApi)
  return app
}

function headersOf(
  status: number,
  { error }: ErrorBody,
  { drain }: ApiContext,
): Record<string, string> {
  const { retry_after_ms: retryAfter } = error
  return {
    ...(retryAfter !== undefined && { 'retry-after': String(Math.ceil(retryAfter / 1_000)) }),
    // Who keeps its connection would come back to a server that is about to end; who was refused before
    // its body was read would have to send it all the same.
    ...((status === 503 || status === 413) &&
      drain.state !== 'accepting' && { connection: 'close' }),
  }
}

function refuseConnection(error: Error & { readonly code?: string }, socket: Socket): void {
  // Nobody is there to be told.
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const { status, body } = toConnectionError(error)
  const text = JSON.stringify(body)
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
  )
}
