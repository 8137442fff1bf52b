/** The routes of served jobs: they read a request, ask the service, and write the answer. */
import type { FastifyReply } from 'fastify'
import { HeddleError, isError } from '@heddle/core'
import type { Clock, Seat, ThreadPool } from '@heddle/core/lowlevel'
import {
  cancelComputation,
  cancelRequest,
  fetchResult,
  listComputations,
  listJobs,
  manageCache,
  submitJob,
} from '../client/contract/jobs.ts'
import type { Forwarder } from '../cluster/forward.ts'
import { commonTenant, type Caller } from '../http/caller.ts'
import { SendTurns, sendBytes } from '../http/send-bytes.ts'
import { route, type Call, type Route } from '../http/route.ts'
import { jsonType } from './encoded.ts'
import type { JobTable } from './job-table.ts'
import { withStage } from './problems.ts'
import { readInput } from './read-input.ts'
import type { ServedJob } from './served-job.ts'
import type { JobService } from './service.ts'
import type { Answer } from './waiting.ts'

export interface JobRoutesOptions {
  readonly jobs: JobTable
  readonly service: JobService
  readonly chores: ThreadPool
  /** Bytes of an input. */
  readonly bodyLimit: number
  /** To the server that owns a handle; undefined when this one owns all. */
  readonly forwarder?: Forwarder | undefined
  readonly clock: Clock
}

export function jobRoutes(options: JobRoutesOptions): readonly Route[] {
  const { service, jobs, bodyLimit } = options
  const turns = new SendTurns(options.clock)
  return [
    route(listJobs, () => ({
      jobs: Array.from(jobs.values(), ({ name, prepare, item, limits, whenAbandoned }) => ({
        name,
        stages: [prepare, ...(item === undefined ? [] : [item])].map((one) => ({
          job: one.name,
          place: one.place,
        })),
        limits,
        when_abandoned: whenAbandoned,
      })),
    })),
    route(submitJob, (call) => submit(call, options, turns), {
      bodyLimit,
      isUnparsed: true,
      door: (call) => {
        service.knock(call.params.name, call.query.priority, call.caller.tenant)
        // From now on: the client may leave while it sends the body.
        void call.signal
      },
    }),
    route(fetchResult, async (call) => {
      const { id, params, query, signal, deadline } = call
      const elsewhere = await forwarded(options, params.handle, call)
      if (elsewhere !== undefined) return elsewhere
      const answer = await service.result(params.handle, params.index, {
        request: id,
        tenant: call.caller.tenant,
        disconnect: signal,
        deadline,
        wait: query.wait ?? 0,
      })
      return sendAnswer(call, answer, turns)
    }),
    route(cancelRequest, ({ params: { id }, caller }) => ({
      request: id,
      state: service.cancel(caller.tenant, id),
    })),
    route(listComputations, ({ query, caller }) => {
      const all = service.computations(tenantsOf(caller))
      return { computations: all.slice(0, query.limit ?? 100), total: all.length }
    }),
    route(cancelComputation, async ({ params: { handle }, caller }) => ({
      handle,
      state: await service.cancelComputation(handle, tenantsOf(caller), caller.name),
    })),
    route(manageCache, ({ body }) => manage(service, body)),
  ]
}

/** *Cancellation*: the client leaving, its deadline, its slot and its id end the request. */
async function submit(call: Call<typeof submitJob>, options: JobRoutesOptions, turns: SendTurns) {
  const { service, chores } = options
  const { id, params, query, signal, deadline } = call
  const { tenant } = call.caller
  const { wait, index = 0, force = false, slot } = query
  const { served, seat, priority } = service.admit(params.name, query.priority, tenant)
  const read = await readWithin(seat, () =>
    readInput(served, ownerOf(served, tenant), call.body as string | undefined, chores, {
      signal,
      deadline,
    }),
  )
  const elsewhere = await readWithin(seat, () => forwarded(options, read.handle, call))
  if (elsewhere !== undefined) {
    seat.release()
    return elsewhere
  }
  const caller = { request: id, tenant, slot, disconnect: signal, deadline, wait: wait ?? 0 }
  const submission = { ...read, served, seat, priority, force }
  const answer =
    wait === undefined
      ? await service.acknowledge(submission, index, caller)
      : await service.compute(submission, index, caller)
  return sendAnswer(call, answer, turns, id)
}

/** Undefined for all: an admin sees and cancels what belongs to any tenant. */
function tenantsOf({ tenant, roles }: Caller): string | undefined {
  return roles.includes('admin') ? undefined : tenant
}

/** The tenant that is part of a handle: the common one is not, so that handles of earlier versions stay valid. */
function ownerOf({ isShared }: ServedJob, tenant: string): string | undefined {
  return isShared || tenant === commonTenant ? undefined : tenant
}

/** The answer of the server that owns the handle; undefined when it is this one (C6). */
async function forwarded(
  { forwarder }: JobRoutesOptions,
  handle: string,
  { request, reply, body, signal, deadline }: Call<typeof submitJob> | Call<typeof fetchResult>,
): Promise<FastifyReply | undefined> {
  if (forwarder === undefined) return undefined
  const { method, url, headers } = request
  const sent = { method, url, headers, body: body as string | undefined }
  const answer = await forwarder.forward(handle, sent, { signal, deadline })
  if (answer === undefined) return undefined
  return reply.code(answer.status).headers(answer.headers).send(answer.body)
}

/** A seat that nothing is read for comes back at once (W3), also when the client does not take the answer. */
async function readWithin<T>(seat: Seat, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    seat.release()
    throw isError(error, 'HDL_TIMEOUT') ? withStage(error, 'request') : error
  }
}

/**
 * 200 with the result, or 202 with where it will be. Values are in an envelope of JSON, bytes are sent as they are.
 *
 * *Cancellation*: none.
 * @param request Named in the answer to a submit. Not in that to a GET, which is the same for every caller.
 */
async function sendAnswer(call: Call, answer: Answer, turns: SendTurns, request?: string) {
  const { reply } = call
  const { handle, index, total, result, isDone } = answer
  if (result === undefined) {
    void reply.code(202).header('location', `/results/${handle}/${index}`)
    const state = isDone ? ('done' as const) : ('pending' as const)
    return { handle, index, total, state, request: call.id }
  }
  if (!turns.tryEnter()) await turns.wait()
  const { type, bytes } = result
  const etag = request === undefined ? result.etag : undefined
  void reply.header('x-request-id', call.id)
  if (type !== jsonType) {
    const headers = {
      'content-location': `/results/${handle}/${index}`,
      // A page that a job has made must not act as a page of this server.
      'content-security-policy': 'sandbox',
      'x-content-type-options': 'nosniff',
    }
    return sendBytes(call.request, reply, { type, parts: [bytes], etag, headers })
  }
  const head = JSON.stringify({ handle, index, total }).slice(0, -1)
  const tail = request === undefined ? '}' : `,"request":${JSON.stringify(request)}}`
  const parts = [Buffer.from(`${head},"result":`), bytes, Buffer.from(tail)]
  return sendBytes(call.request, reply, { type: `${jsonType}; charset=utf-8`, parts, etag })
}

/** *Cancellation*: none: it waits for the store only. */
async function manage(
  service: JobService,
  { action, handle }: { readonly action: 'info' | 'flush' | 'delete'; readonly handle?: string },
) {
  switch (action) {
    case 'info':
      return { success: true, cache: service.stats().cache }
    case 'flush':
      await service.forgetAll()
      return { success: true }
    case 'delete': {
      if (handle !== undefined) return { success: await service.forget(handle), handle }
      const problem = 'expected the handle whose results to delete.'
      throw new HeddleError('HDL_BAD_INPUT', { what: 'handle', problem })
    }
  }
}
