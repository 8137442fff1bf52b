/**
 * Spans of OpenTelemetry, from a request to the thread that computes for it and back. They are made through
 * `@opentelemetry/api`: the serving program registers an SDK, and decides where spans go and how many are kept.
 *
 *   POST /jobs/:name          of the request; its parent is the client's span, when the request has `traceparent`
 *    └─ job NAME              of the computation; requests that join it have a link to it (work-spans.ts)
 *        └─ prepare, item     of a stage
 *            ├─ queue         from admission to start
 *            └─ run           of an attempt: `ctx.traceparent` names it on the loop and in threads
 *
 * Invariants, quoted by the tests:
 *  T1  Without an SDK nothing is recorded, and jobs have no `ctx.traceparent`.
 *  T2  A span that begins ends exactly once, however the request, the computation or the attempt ends.
 *  T3  A span has no input, no result and no query, and of the errors of jobs only the code.
 */
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  context,
  isSpanContextValid,
  propagation,
  trace,
  type Context,
  type Span,
} from '@opentelemetry/api'
import type { FastifyInstance } from 'fastify'

declare module 'fastify' {
  interface FastifyRequest {
    /** The trace with the span of this request; undefined where nothing is traced. */
    heddleTrace: Context | undefined
  }
}

/** It asks for the SDK when a span begins: an SDK may be registered after this module was loaded. */
export const tracer = trace.getTracer('@heddle/server')

/** One span for each request of an application. */
export function followSpans(app: FastifyInstance): void {
  app.decorateRequest('heddleTrace', undefined)
  app.addHook('onRequest', (request, reply, done) => {
    const { method, headers, routeOptions } = request
    const path = routeOptions.config.contract?.path
    const parent = propagation.extract(ROOT_CONTEXT, headers)
    const attributes = {
      'http.request.method': method,
      ...(path !== undefined && { 'http.route': path }),
    }
    const name = path === undefined ? method : `${method} ${path}`
    const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent)
    // T1
    if (!isSpanContextValid(span.spanContext())) return done()
    const traced = trace.setSpan(parent, span)
    request.heddleTrace = traced
    reply.raw.once('close', () => {
      // A client that left before its answer has none.
      const status = reply.raw.headersSent ? reply.statusCode : 499
      const { heddleCall } = request
      span.setAttribute('http.response.status_code', status)
      if (heddleCall !== undefined) span.setAttribute('heddle.tenant', heddleCall.caller.tenant)
      if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end()
    })
    context.with(traced, done)
  })
}

/** The header of W3C Trace Context; undefined where nothing is traced. */
export function traceparentOf(span: Span): string | undefined {
  const of = span.spanContext()
  if (!isSpanContextValid(of)) return undefined
  return `00-${of.traceId}-${of.spanId}-${of.traceFlags.toString(16).padStart(2, '0')}`
}

/** For the log: lines of a trace are found by its id. */
export function idsOf(
  traced: Context | undefined,
): { readonly trace_id: string; readonly span_id: string } | undefined {
  const span = traced && trace.getSpan(traced)?.spanContext()
  return span && { trace_id: span.traceId, span_id: span.spanId }
}
