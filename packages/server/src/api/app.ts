/** The HTTP server: routes, errors, limits. */
import type { IncomingMessage, RequestListener, Server } from 'node:http'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { isError } from '@heddle/core'
import { runBlamed } from '@heddle/core/lowlevel'
import type { Arrivals } from '../lifecycle/arrivals.ts'
import type { Connections } from '../lifecycle/connections.ts'
import type { OpenResponses } from '../lifecycle/open-responses.ts'
import { adminRoutes } from './admin.ts'
import type { ApiContext } from './context.ts'
import { refuseForeignPages } from './browsers.ts'
import { healthRoutes } from './health.ts'
import { toHttpError, type ErrorBody } from './http-error.ts'
import { jobRoutes } from './jobs.ts'
import { openApi } from './openapi.ts'
import { codingProblemOf, newRequestId, textOf } from './read-request.ts'
import { resultRoutes } from './results.ts'

export interface AppOptions {
  /** Bytes of a body. */
  readonly bodyLimit: number
  /** Makes the server below the routes. */
  readonly makeServer: (listener: RequestListener) => Server
  readonly connections: Connections
  readonly arrivals: Arrivals
  /** Told every answer. */
  readonly open: OpenResponses
  /** What the server listens on. */
  readonly host: string
}

export function makeApp(context: ApiContext, options: AppOptions): FastifyInstance {
  const tell = (error: unknown, reply: FastifyReply): FastifyReply => {
    const { status, body } = toHttpError(error)
    if (isError(error, 'HDL_STORE_FAILED') || isError(error, 'HDL_JOURNAL_GONE'))
      context.storeWatch.look()
    return reply
      .code(status)
      .headers(headersOf(status, body, context))
      .send(body)
  }
  const app = Fastify({
    bodyLimit: options.bodyLimit,
    serverFactory: options.makeServer,
    genReqId: newRequestId,
    requestIdHeader: false,
    // Draining answers by itself, in JSON, for as long as there are connections.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 256 },
    // What is wrong before there is a route, or a request, is told in the same form.
    frameworkErrors: (error, _, reply) => void tell(error, reply),
    // The servers do it themselves, on every address.
    clientErrorHandler: () => undefined,
    logger: false,
  })
  // Parsed where it is known how large it may be.
  app.removeAllContentTypeParsers()
  // As bytes: Node's decoder replaces what is not UTF-8, and a job would compute with another input.
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (_: FastifyRequest, body: Buffer) => textOf(body),
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
    options.connections.begin(reply.raw)
    done()
  })
  // Before a request can be refused: its body comes all the same.
  app.addHook('onRequest', ({ raw }, reply, done) => {
    if (!hasBody(raw)) return done()
    // No route reads it, and it must not wait for the answer.
    if (raw.method === 'GET' || raw.method === 'HEAD') raw.resume()
    const fail = (error: unknown): void => {
      if (reply.sent) raw.socket.destroy()
      else void tell(error, reply.header('connection', 'close'))
    }
    // The parser is in the middle of the bytes that it was given: what came with the head is read by then.
    context.clock.afterIo(() => {
      try {
        options.arrivals.watch(raw, fail)
        done()
      } catch (error) {
        void reply.header('connection', 'close')
        done(error as Error)
      }
    })
  })
  // What blocks the loop is told by its route.
  app.addHook('onRequest', (request, _, done) =>
    runBlamed(`${request.method} ${request.routeOptions.url ?? 'unknown route'}`, done),
  )
  refuseForeignPages(app, options.host)
  app.addHook('onRequest', (request, _, done) => done(codingProblemOf(request)))
  jobRoutes(app, context)
  resultRoutes(app, context)
  adminRoutes(app, context)
  healthRoutes(app, context)
  app.get('/openapi.json', () => openApi)
  return app
}

function hasBody({ headers }: IncomingMessage): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = headers
  return encoding !== undefined || Number(length) > 0
}

function headersOf(
  status: number,
  { error }: ErrorBody,
  { drain }: ApiContext,
): Record<string, string> {
  const { retry_after_ms: retryAfter } = error
  return {
    // RFC 9110, 15.5.16: says which codings are taken.
    ...(status === 415 && { 'accept-encoding': 'identity' }),
    ...(retryAfter !== undefined && { 'retry-after': String(Math.ceil(retryAfter / 1_000)) }),
    // Who keeps its connection would come back to a server that is about to end; who was refused before
    // its body was read would have to send it all the same.
    ...((status === 503 || status === 413) &&
      drain.state !== 'accepting' && { connection: 'close' }),
  }
}
