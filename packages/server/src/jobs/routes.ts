/** The routes of served jobs: they read a request, ask the service, and write the answer. */
import type { FastifyReply } from 'fastify'
import { HeddleError, isError } from '@heddle/core'
import type { Seat, ThreadPool } from '@heddle/core/lowlevel'
import {
  cancelRequest,
  fetchResult,
  listJobs,
  manageCache,
  submitJob,
} from '../client/contract/jobs.ts'
import type { Forwarder } from '../cluster/forward.ts'
import { commonTenant } from '../http/caller.ts'
import { route, type Call, type Route } from '../http/route.ts'
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
}

export function jobRoutes(options: JobRoutesOptions): readonly Route[] {
  const { service, jobs, bodyLimit } = options
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
    route(submitJob, (call) => submit(call, options), {
      bodyLimit,
      isUnparsed: true,
      door: (call) => {
        service.knock(call.params.name, call.query.priority, call.caller.tenant)
        // From now on: the client may leave while it sends the body.
        void call.signal
      },
    }),
    route(fetchResult, async (call) => {
      const { id, params, query, signal, deadline, reply } = call
      const elsewhere = await forwarded(options, params.handle, call)
      if (elsewhere !== undefined) return elsewhere
      const answer = await service.result(params.handle, params.index, {
        request: id,
        tenant: call.caller.tenant,
        disconnect: signal,
        deadline,
        wait: query.wait ?? 0,
      })
      return sendAnswer(reply, answer, id)
    }),
    route(cancelRequest, ({ params: { id }, caller }) => ({
      request: id,
      state: service.cancel(caller.tenant, id),
    })),
    route(manageCache, ({ body }) => manage(service, body)),
  ]
}

/** *Cancellation*: the client leaving, its deadline, its slot and its id end the request. */
async function submit(
  call: Call<typeof submitJob>,
  options: JobRoutesOptions,
): Promise<ReturnType<typeof sendAnswer> | FastifyReply> {
  const { service, chores } = options
  const { id, params, query, signal, deadline, reply } = call
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
  return sendAnswer(reply, answer, id)
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

/** 200 with the result, or 202 with where it will be. */
function sendAnswer(reply: FastifyReply, answer: Answer, request: string) {
  const { handle, index, total, result, isDone } = answer
  // JSON has no undefined: a job that returns nothing has the result null.
  if (result !== undefined) {
    return { handle, index, total, result: result.value ?? null, request }
  }
  void reply.code(202).header('location', `/results/${handle}/${index}`)
  const state = isDone ? ('done' as const) : ('pending' as const)
  return { handle, index, total, state, request }
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
