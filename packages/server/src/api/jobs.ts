/** Submitting work. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isError } from '@heddle/core'
import type { Seat } from '@heddle/core/lowlevel'
import { clientGone } from '../lifecycle/client-gone.ts'
import { readInput } from '../service/read-input.ts'
import type { Answer } from '../service/waiting.ts'
import { withStage } from '../service/problems.ts'
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

/** Known before the body is read. */
interface Asked {
  readonly id: string
  readonly disconnect: AbortSignal
}

export function jobRoutes(app: FastifyInstance, context: ApiContext): void {
  const { service, jobs } = context
  const asked = new WeakMap<FastifyRequest, Asked>()

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
      service.knock(request.params.name, priorityOf(request.query))
      asked.set(request, { id, disconnect: clientGone(reply.raw, id, context.clock) })
    },
    handler: async (request, reply) => {
      const { id, disconnect } = asked.get(request)!
      const { query } = request
      const wait = waitOf(query)
      const index = indexOf((query as { index?: unknown }).index)
      const priority = priorityOf(query)
      const force = forceOf(query)
      const slot = slotOf(query)
      const deadline = deadlineOf(request, context.requestLimit)
      const { served, seat } = service.admit(request.params.name, priority)
      const read = await readWithin(seat, () =>
        readInput(served, request.body as string, context.chores, {
          signal: disconnect,
          deadline,
        }),
      )
      const caller = { request: id, slot, disconnect, deadline, wait: wait ?? 0 }
      const submission = { ...read, served, seat, priority, force }
      const answer =
        wait === undefined
          ? await service.acknowledge(submission, index, caller)
          : await service.compute(submission, index, caller)
      return sendAnswer(reply, answer, id)
    },
  })
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
export function sendAnswer(reply: FastifyReply, answer: Answer, request: string): unknown {
  const { handle, index, total, result, isDone } = answer
  // JSON has no undefined: a job that returns nothing has the result null.
  if (result !== undefined) {
    return { handle, index, total, result: result.value ?? null, request }
  }
  void reply.code(202).header('location', `/results/${handle}/${index}`)
  return { handle, index, total, state: isDone ? 'done' : 'pending', request }
}
