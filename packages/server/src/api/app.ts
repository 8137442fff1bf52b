/** The HTTP server: routes, errors, limits. */
import Fastify, { type FastifyInstance } from 'fastify'
import { runBlamed } from '@heddle/core/lowlevel'
import { adminRoutes } from './admin.ts'
import type { ApiContext } from './context.ts'
import { healthRoutes } from './health.ts'
import { toHttpError, type ErrorBody } from './http-error.ts'
import { jobRoutes } from './jobs.ts'
import { openApi } from './openapi.ts'
import { resultRoutes } from './results.ts'

export interface AppOptions {
  /** Bytes of a body. */
  readonly bodyLimit: number
  /** Milliseconds in which a request must have arrived. */
  readonly arrivalLimit: number
  /** Makes the ids of requests that bring none. */
  readonly newId: () => string
}

export function makeApp(context: ApiContext, options: AppOptions): FastifyInstance {
  const app = Fastify({
    bodyLimit: options.bodyLimit,
    requestTimeout: options.arrivalLimit,
    genReqId: options.newId,
    requestIdHeader: false,
    // Draining answers by itself, in JSON, for as long as there are connections.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 256 },
    logger: false,
  })
  // Parsed where it is known how large it may be.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_, body, done) =>
    done(null, body),
  )
  app.setErrorHandler((error, _, reply) => {
    const { status, body } = toHttpError(error)
    return reply
      .code(status)
      .headers(headersOf(status, body, context))
      .send(body)
  })
  app.setNotFoundHandler((request, reply) =>
    reply.code(404).send({
      error: {
        code: 'not_found',
        message: `There is no ${request.method} ${request.url.split('?')[0]}. GET /openapi.json lists what there is.`,
        retryable: false,
      },
    } satisfies ErrorBody),
  )
  // What blocks the loop is told by its route.
  app.addHook('onRequest', (request, _, done) =>
    runBlamed(`${request.method} ${request.routeOptions.url ?? 'unknown route'}`, done),
  )
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
