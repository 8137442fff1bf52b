/** The routes of served jobs: they read a request, ask the service, and write the answer. */
import type { FastifyReply } from 'fastify'
import { HeddleError, isError } from '@heddle/core'
import { jsonSchemaOf, waitFor, type Seat } from '@heddle/core/lowlevel'
import {
  cancelComputation,
  cancelRequest,
  fetchResult,
  listComputations,
  listJobs,
  manageCache,
  retryComputation,
  submitJob,
  type CancelState,
  type ComputationList,
} from '../client/contract/jobs.ts'
import type { ClusterForwarding } from '../cluster/call-forwarding.ts'
import { commonTenant, type Caller } from '../http/caller.ts'
import type { ForwardedAnswer } from '../http/context.ts'
import type { ParseMeans } from '../http/parse-json.ts'
import { checkTotals, tenantsOf } from '../http/tenancy.ts'
import { Sending, sendBytes } from '../http/send-bytes.ts'
import { route, type Call, type Route } from '../http/route.ts'
import { jsonType, type Encoded } from './encoded.ts'
import type { JobTable } from './job-table.ts'
import { withStage } from './job-errors.ts'
import { readInput, type ReadInput, type ReadMeans } from './read-input.ts'
import type { ServedJob } from './served-job.ts'
import type { JobService } from './service.ts'
import type { Answer, Asking } from './waiting.ts'

/** Milliseconds to find the handle of a prefetch. */
const prefetchReading = 60_000

export interface JobRoutesOptions extends ParseMeans {
  readonly jobs: JobTable
  readonly service: JobService
  /** Bytes of an input. */
  readonly bodyLimit: number
  /** To other servers on the same store; undefined when this one is alone. */
  readonly forwarding?: ClusterForwarding | undefined
}

export function jobRoutes(options: JobRoutesOptions): readonly Route[] {
  const { service, jobs, bodyLimit } = options
  const sending = new Sending(options.clock)
  const listed = Array.from(jobs.values(), describeJob)
  return [
    route(listJobs, () => ({ jobs: listed })),
    route(submitJob, (call) => nameLimit(call, submit(call, options, sending)), {
      bodyLimit,
      isUnparsed: true,
      door: (call) => {
        service.knock(call.params.name, call.query.priority, call.caller.tenant)
        // From now on: the client may leave while it sends the body.
        void call.signal
      },
      tenancy: 'everyone',
    }),
    route(
      fetchResult,
      (call) => {
        const { params, caller } = call
        // A limit that is not one is refused, whatever the answer would be.
        void call.deadline
        const known = service.results.tryRead(params.handle, params.index, caller.tenant)
        if (known === undefined) return nameLimit(call, fetchLater(call, service, sending))
        return sendAnswer(call, known, sending)
      },
      { ownedBy, tenancy: 'handler' },
    ),
    route(cancelRequest, (call) => cancelAnywhere(call, options), { tenancy: 'handler' }),
    route(listComputations, (call) => listEverywhere(call, options)),
    route(
      cancelComputation,
      async ({ params: { handle }, caller, signal, deadline }) => ({
        handle,
        state: await service.computations.cancel(handle, tenantsOf(caller), caller.name, {
          signal,
          deadline,
        }),
      }),
      { ownedBy, tenancy: 'handler' },
    ),
    route(
      retryComputation,
      async ({ params: { handle }, caller, signal, deadline }) => {
        await service.computations.retry(handle, tenantsOf(caller), { signal, deadline })
        return { handle, state: 'retried' as const }
      },
      { ownedBy, tenancy: 'handler' },
    ),
    route(manageCache, async (call) => {
      const { body } = call
      const answer = await manage(service, body, call.caller)
      // Values in this server's memory are stale when another has deleted them.
      if (body.action !== 'info') await options.forwarding?.askOthers(call, JSON.stringify(body))
      return answer
    }),
  ]
}

/** *Cancellation*: the client leaving, its deadline and its id end the request. */
async function fetchLater(call: Call<typeof fetchResult>, service: JobService, sending: Sending) {
  const { params, query } = call
  const asking = askingOf(call, query.wait)
  return sendAnswer(call, await service.results.read(params.handle, params.index, asking), sending)
}

/** A request that ran out of time names the time that it had in all, not what was left of it for its last wait. */
async function nameLimit<T>(call: Call, answered: Promise<T>): Promise<T> {
  try {
    return await answered
  } catch (error) {
    if (!isError(error, 'HDL_TIMEOUT') || call.deadline > 1 || error.details.limit > call.limit)
      throw error
    throw new HeddleError('HDL_TIMEOUT', { ...error.details, limit: call.limit })
  }
}

/** The caller, for as long as it has the right. */
function askingOf(call: Call, wait = 0, slot?: string): Asking {
  return {
    request: call.id,
    tenant: call.caller.tenant,
    slot,
    disconnect: call.signal,
    // It reads its body, looks at the store and waits: all of that within one limit.
    get deadline() {
      return call.deadline
    },
    wait,
    trace: call.request.heddleTrace,
  }
}

function describeJob({ name, prepare, item, limits, whenAbandoned }: ServedJob) {
  const schema = prepare.input && jsonSchemaOf(prepare.input)
  return {
    name,
    stages: [prepare, ...(item === undefined ? [] : [item])].map((one) => ({
      job: one.name,
      place: one.place,
    })),
    limits,
    when_abandoned: whenAbandoned,
    ...(schema !== undefined && { input: schema }),
  }
}

const ownedBy = ({ params }: { readonly params: { readonly handle: string } }): string =>
  params.handle

/** A request is known to the server that owns its handle, and its id does not say which one that is. */
async function cancelAnywhere(
  call: Call<typeof cancelRequest>,
  { service, forwarding }: JobRoutesOptions,
): Promise<CancelState> {
  const { id } = call.params
  try {
    const { caller, signal, deadline } = call
    const state = await service.cancelForGood(caller.tenant, id, { signal, deadline })
    return { request: id, state }
  } catch (error) {
    if (forwarding === undefined || !isError(error, 'HDL_UNKNOWN_REQUEST')) throw error
    const { answers } = await forwarding.askOthers<CancelState>(call)
    if (answers[0] === undefined) throw error
    return answers[0]
  }
}

/** *Cancellation*: as the call. */
async function listEverywhere(
  call: Call<typeof listComputations>,
  { service, forwarding }: JobRoutesOptions,
): Promise<ComputationList> {
  const { limit = 100 } = call.query
  const own = service.computations.list(tenantsOf(call.caller))
  const others = await forwarding?.askOthers<ComputationList>(call)
  const all = [...own, ...(others?.answers ?? []).flatMap(({ computations }) => computations)]
  const elsewhere = others?.answers.reduce((sum, { total }) => sum + total, 0) ?? 0
  const missing = others?.missing ?? 0
  return {
    computations: all.slice(0, limit),
    total: own.length + elsewhere,
    ...(missing > 0 && { servers_missing: missing }),
  }
}

/** *Cancellation*: the client leaving, its deadline, its slot and its id end the request. */
async function submit(call: Call<typeof submitJob>, options: JobRoutesOptions, sending: Sending) {
  const { service } = options
  const { id, params, query, signal, deadline } = call
  const { tenant } = call.caller
  const { wait, index = 0, force = false, slot } = query
  const { served, seat, priority, admittedAt } = service.admit(params.name, query.priority, tenant)
  const text = call.body as string | undefined
  const owner = ownerOf(served, tenant)
  const asked = await readWithin(seat, () =>
    readInput(served, owner, text, readMeans(options), { signal, deadline }),
  )
  const read =
    force || asked.family === undefined
      ? asked
      : await readWithin(seat, () =>
          service.untilOver(signal, (either) =>
            service.larger(asked, { signal: either, deadline: call.deadline }),
          ),
        )
  // A larger input answers for it: another server is asked for that one.
  const body = read.handle === asked.handle ? text : JSON.stringify(read.input)
  const { forwarding } = options
  const isAnswered =
    forwarding !== undefined &&
    (await readWithin(seat, async () => {
      const elsewhere = forwarding.forward(read.handle, call, body)
      if (elsewhere === undefined) return false
      const waitElsewhere = (either: AbortSignal): Promise<ForwardedAnswer | undefined> =>
        waitFor(elsewhere, 'The answer of another server', options.clock, { signal: either })
      return (await service.untilOver(undefined, waitElsewhere)) !== undefined
    }))
  if (isAnswered) {
    seat.release()
    return call.reply
  }
  const caller = askingOf(call, wait, slot)
  const submission = { ...read, served, seat, priority, force, admittedAt }
  const answer =
    wait === undefined
      ? await service.acknowledge(submission, index, caller)
      : await service.compute(submission, index, caller)
  // Started here, after the input was accepted, so that it cannot change the answer.
  if (priority === 0) planPrefetch(served, asked, tenant, options)
  return sendAnswer(call, answer, sending, id)
}

function readMeans({ chores, clock, loopBody, service }: JobRoutesOptions): ReadMeans {
  return { chores, clock, loopBody, untilOver: service.untilOver.bind(service) }
}

/** A quick answer now, the whole computation some seconds later. */
function planPrefetch(
  served: ServedJob,
  asked: ReadInput,
  tenant: string,
  options: JobRoutesOptions,
): void {
  const { service } = options
  service.planPrefetch(served, asked, async (next) => {
    const owner = ownerOf(served, tenant)
    const limits = { deadline: prefetchReading }
    const means = readMeans(options)
    const read = await readInput(served, owner, JSON.stringify(next), means, limits)
    return service.prefetch(served.name, read, tenant)
  })
}

/** The tenant that is part of a handle: the common one is not, so that handles of earlier versions stay valid. */
function ownerOf({ isShared }: ServedJob, tenant: string): string | undefined {
  return isShared || tenant === commonTenant ? undefined : tenant
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
function sendAnswer(call: Call, answer: Answer, sending: Sending, request?: string) {
  const { reply } = call
  const { handle, index, total, result, isDone } = answer
  if (result === undefined) {
    void reply.code(202).header('location', `/results/${handle}/${index}`)
    const state = isDone ? ('done' as const) : ('pending' as const)
    return { handle, index, total, state, request: call.id }
  }
  const { begins } = sending
  const send = (): FastifyReply => sendResult(call, answer, result, sending, request)
  return begins.tryEnter() ? send() : begins.wait().then(send)
}

function sendResult(
  call: Call,
  { handle, index, total }: Answer,
  result: Encoded,
  sending: Sending,
  request: string | undefined,
): FastifyReply {
  const { reply } = call
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
    return sendBytes(call.request, reply, { type, parts: [bytes], etag, headers }, sending)
  }
  const head = JSON.stringify({ handle, index, total }).slice(0, -1)
  const tail = request === undefined ? '}' : `,"request":${JSON.stringify(request)}}`
  const parts = [Buffer.from(`${head},"result":`), bytes, Buffer.from(tail)]
  const sent = { type: `${jsonType}; charset=utf-8`, parts, etag, isText: true }
  return sendBytes(call.request, reply, sent, sending)
}

/** *Cancellation*: none: it waits for the store only. */
async function manage(
  service: JobService,
  { action, handle }: { readonly action: 'info' | 'flush' | 'delete'; readonly handle?: string },
  caller: Caller,
) {
  const tenant = tenantsOf(caller)
  switch (action) {
    case 'info':
      checkTotals(caller, 'What the cache holds')
      return { success: true, cache: service.stats().cache }
    case 'flush':
      // Stored results are not listed by tenant: the list is for callers that may see all of it.
      if (tenant !== undefined) {
        throw new HeddleError('HDL_FORBIDDEN', { what: 'Deleting all results', needs: 'admin' })
      }
      await service.forgetAll()
      return { success: true }
    case 'delete': {
      if (handle !== undefined)
        return { success: await service.computations.forget(handle, tenant), handle }
      const problem = 'expected the handle whose results to delete.'
      throw new HeddleError('HDL_BAD_INPUT', { what: 'handle', problem })
    }
  }
}
