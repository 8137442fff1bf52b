/** Submitting work. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Seat } from '@heddle/core/lowlevel'
import { clientGone } from '../lifecycle/client-gone.ts'
import { readInput } from '../service/read-input.ts'
import type { Answer } from '../service/waiting.ts'
import type { ServedJob } from '../service/served-job.ts'
import type { ApiContext } from './context.ts'
import {
  deadlineOf,
  forceOf,
  indexOf,
  priorityOf,
  requestId,
  slotOf,
  waitOf,
} from './read-request.ts'

/** Taken before the body is read. */
interface Admission {
  readonly served: ServedJob
  readonly seat: Seat
  readonly id: string
  readonly disconnect: AbortSignal
  /** The seat is the work's from now on. */
  isHandedOver: boolean
}

export function jobRoutes(app: FastifyInstance, context: ApiContext): void {
  const { service, jobs } = context
  const admissions = new WeakMap<FastifyRequest, Admission>()

  app.get('/jobs', () => ({
    jobs: Array.from(jobs.values(), ({ name, prepare, item, limits, whenAbandoned }) => ({
      name,
      stages: [prepare, ...(item === undefined ? [] : [item])].map((one) => ({
        job: one.name,
        place: one.place,
      })),
      limits,
      when_abandoned: whenAbandoned,
    })),
  }))

  app.post<{ Params: { name: string } }>('/jobs/:name', {
    onRequest: async (request, reply) => {
      const id = requestId(request)
      const { served, seat } = service.admit(request.params.name, priorityOf(request.query))
      const disconnect = clientGone(reply.raw, id, context.clock)
      const admission: Admission = { served, seat, id, disconnect, isHandedOver: false }
      admissions.set(request, admission)
      // Whatever happens to the request, its seat comes back (W3).
      reply.raw.once('close', () => {
        if (!admission.isHandedOver) seat.release()
      })
    },
    handler: async (request, reply) => {
      const admission = admissions.get(request)!
      const { served, seat, id, disconnect } = admission
      const { query } = request
      const wait = waitOf(query)
      const index = indexOf((query as { index?: unknown }).index)
      const caller = {
        request: id,
        slot: slotOf(query),
        disconnect,
        deadline: deadlineOf(request, context.requestLimit),
        wait: wait ?? 0,
      }
      const force = forceOf(query)
      const read = await readInput(served, request.body as string, context.chores, disconnect)
      const submission = { ...read, served, seat, priority: priorityOf(query), force }
      admission.isHandedOver = true
      const answer =
        wait === undefined
          ? await service.acknowledge(submission, index, caller)
          : await service.compute(submission, index, caller)
      return sendAnswer(reply, answer, id)
    },
  })
}

/** 200 with the result, or 202 with where it will be. */
export function sendAnswer(reply: FastifyReply, answer: Answer, request: string): unknown {
  const { handle, index, total, result, isDone } = answer
  if (result !== undefined) return { handle, index, total, result: result.value, request }
  void reply.code(202).header('location', `/results/${handle}/${index}`)
  return { handle, index, total, state: isDone ? 'done' : 'pending', request }
}
