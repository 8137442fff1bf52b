/** Fastify with our limits, errors and rooms. */
import type { IncomingMessage, RequestListener, Server } from 'node:http'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { isError } from '@heddle/core'
import { runBlamed, type Clock } from '@heddle/core/lowlevel'
import type { ErrorBody } from '../client/contract/contract.ts'
import { refuseForeignPages } from './browsers.ts'
import { commonTenant, type AccessPolicy } from './caller.ts'
import type { CallForwarding } from './context.ts'
import type { Failures } from './failures.ts'
import { inOurWords, toHttpError } from './http-error.ts'
import type { Arrivals } from './lifecycle/arrivals.ts'
import type { CallerWatch } from './lifecycle/caller-watch.ts'
import type { Connections } from './lifecycle/connections.ts'
import { askForBody } from './lifecycle/expected-bodies.ts'
import { stopReading } from './lifecycle/refused-bodies.ts'
import type { OpenResponses } from './lifecycle/open-responses.ts'
import type { StoreWatch } from './lifecycle/store-watch.ts'
import type { RouteMetrics } from './metrics/route-metrics.ts'
import type { LogEvent } from '../log/log-event.ts'
import { answerEvent, brokenPipeEvent } from './request-events.ts'
import type { ParseMeans } from './parse-json.ts'
import { codingProblemOf, newRequestId } from './read-request.ts'
import type { Room } from './room.ts'
import { addRoom, refuseUnknownRoutes } from './route-table.ts'
import { followSpans } from '../tracing/request-span.ts'

export interface AppOptions {
  readonly rooms: readonly Room[]
  readonly policy: AccessPolicy
  readonly callers: CallerWatch
  readonly errorDetails: 'operators' | 'everyone'
  readonly failures: Failures
  /** Server-side events that no client sees. */
  readonly log: (level: 'info' | 'warning', text: string) => void
  /** Milliseconds after which to come back, by the measured rate. */
  readonly retryAfter: () => number
  /** Writes a line of the structured log. */
  readonly note: (event: LogEvent) => void
  /** Milliseconds a request may take. */
  readonly requestLimit: number
  /** Makes the server below the routes. */
  readonly makeServer: (listener: RequestListener) => Server
  readonly connections: Connections
  readonly arrivals: Arrivals
  /** Notified of every answer. */
  readonly open: OpenResponses
  readonly routeMetrics: RouteMetrics
  readonly storeWatch: Pick<StoreWatch, 'look'>
  readonly isDraining: () => boolean
  readonly clock: Clock
  readonly parsing: ParseMeans
  /** What the server listens on. */
  readonly host: string
  /** Undefined where no other server shares the store. */
  readonly forwarding?: CallForwarding | undefined
}

/** Headers of every answer; the dashboard adds its content security policy. */
const secureHeaders = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
} as const

export function makeApp(options: AppOptions): FastifyInstance {
  const { rooms, clock } = options
  const sendError = (error: unknown, reply: FastifyReply): FastifyReply => {
    const { status, body: whole } = toHttpError(error, options.retryAfter)
    const body = isKept(whole) ? keepFailure(error, status, whole, reply, options) : whole
    const event = answerEvent(error, { status, body: whole }, reply)
    if (event !== undefined) options.note(event)
    if (isError(error, 'HDL_STORE_FAILED') || isError(error, 'HDL_JOURNAL_GONE'))
      options.storeWatch.look()
    return reply
      .code(status)
      .headers(headersOf(error, status, body))
      .send(body)
  }
  const app = Fastify({
    serverFactory: options.makeServer,
    genReqId: newRequestId,
    requestIdHeader: false,
    // Draining answers by itself, in JSON, for as long as there are connections.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    // The longest of a contract is the name of a node.
    routerOptions: { maxParamLength: 4_096 },
    // Errors before there is a route, or a request, have the same form.
    frameworkErrors: (error, _, reply) => void sendError(error, reply),
    // The servers do it themselves, on every address.
    clientErrorHandler: () => undefined,
    logger: false,
  })
  // Each kind of body has a parser of its own, in the scope of its routes.
  app.removeAllContentTypeParsers()
  followSpans(app)
  options.routeMetrics.follow(app, clock, (request, reply, ms) =>
    options.note(brokenPipeEvent(request, reply, ms)),
  )
  // A client that keeps its connection would send its next request to a server that is about to end.
  app.addHook('onSend', (_, reply, payload, done) => {
    if (options.isDraining()) void reply.header('connection', 'close')
    done(null, payload)
  })
  app.setErrorHandler((error, { raw, routeOptions }, reply) => {
    // It was refused before its body came: the rest is not read.
    if (hasBody(raw) && !raw.complete) {
      void reply.header('connection', 'close')
      stopReading(raw, clock)
    }
    return sendError(inOurWords(error, routeOptions.bodyLimit), reply)
  })
  app.addHook('onRequest', (_, reply, done) => {
    // One that had to wait for its turn was added then.
    if (!options.open.has(reply.raw)) {
      options.open.add(reply.raw)
      options.connections.begin(reply.raw)
    }
    done()
  })
  // Before a request can be refused: its body comes all the same.
  app.addHook('onRequest', ({ raw }, reply, done) => {
    if (!hasBody(raw)) return done()
    // No route reads it, and it must not wait for the answer.
    if (raw.method === 'GET' || raw.method === 'HEAD') raw.resume()
    const fail = (error: unknown): void => {
      if (reply.sent) raw.socket.destroy()
      else void sendError(error, reply.header('connection', 'close'))
    }
    // The parser is in the middle of the bytes that it was given: bytes that came with the head are read by then.
    clock.afterIo(() => {
      try {
        options.arrivals.watch(raw, fail)
        done()
      } catch (error) {
        void reply.header('connection', 'close')
        done(error as Error)
      }
    })
  })
  // The loop watch names the route that blocks the loop.
  app.addHook('onRequest', (request, _, done) =>
    runBlamed(`${request.method} ${request.routeOptions.url ?? 'unknown route'}`, done),
  )
  app.addHook('onRequest', (_, reply, done) => {
    void reply.headers(secureHeaders)
    done()
  })
  refuseForeignPages(app, options.host)
  refuseUnknownRoutes(app, rooms)
  app.addHook('onRequest', (request, _, done) => done(codingProblemOf(request)))
  app.addHook('preParsing', ({ routeOptions }, reply, _, done) => {
    askForBody(reply.raw, routeOptions.bodyLimit)
    done()
  })
  for (const room of rooms) addRoom(app, room, options)
  return app
}

/** Errors of the server and of jobs (5xx) may name files, hosts and data. */
function isShown(
  status: number,
  { heddleCall }: FastifyRequest,
  { errorDetails }: AppOptions,
): boolean {
  if (errorDetails === 'everyone' || status < 500 || status === 504) return true
  const caller = heddleCall?.caller
  if (caller === undefined || caller.kind === 'anonymous') return false
  return caller.roles.includes('operator') || caller.roles.includes('admin')
}

/** The public text for each code. Refusals with a retry time are for every caller. */
const publicMessages: Readonly<Record<string, string>> = {
  job_failed: 'The job failed.',
  internal_error: 'The server made a mistake.',
  store_failed: 'The store cannot be written now.',
}

/** Whether operators can look the failure up by its reference. */
function isKept({ error }: ErrorBody): boolean {
  return error.code in publicMessages
}

/** The body of the answer: the error with its reference, or the reference alone. The rest is for operators and the log. */
function keepFailure(
  error: unknown,
  status: number,
  { error: body }: ErrorBody,
  { request }: FastifyReply,
  options: AppOptions,
): ErrorBody {
  const { code, message } = body
  const reference = request.heddleCall?.id ?? request.id
  const { tenant } = request.heddleCall?.caller ?? { tenant: commonTenant }
  const route = `${request.method} ${request.routeOptions.url ?? 'unknown route'}`
  const at = options.clock.wallTime()
  options.failures.add({ reference, at, tenant, route, code, error })
  if (isShown(status, request, options)) return { error: { ...body, reference } }
  options.log('warning', `Request ${reference} was answered ${code}: ${message}`)
  const shown = `${publicMessages[code]} Reference: ${reference}.`
  return { error: { ...body, message: shown, reference } }
}

function hasBody({ headers }: IncomingMessage): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = headers
  return encoding !== undefined || Number(length) > 0
}

function headersOf(thrown: unknown, status: number, { error }: ErrorBody): Record<string, string> {
  const { retry_after_ms: retryAfter } = error
  return {
    // RFC 9110, 15.5.16: says which codings are taken.
    ...(status === 415 && { 'accept-encoding': 'identity' }),
    ...(status === 401 && { 'www-authenticate': 'Bearer' }),
    ...(isError(thrown, 'HDL_METHOD_NOT_ALLOWED') && { allow: thrown.details.allowed.join(', ') }),
    ...(retryAfter !== undefined && { 'retry-after': String(Math.ceil(retryAfter / 1_000)) }),
  }
}
