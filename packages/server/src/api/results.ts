/** Results by their handle, and requests by their id. */
import type { FastifyInstance } from 'fastify'
import { clientGone } from '../lifecycle/client-gone.ts'
import type { ApiContext } from './context.ts'
import { sendAnswer } from './jobs.ts'
import { deadlineOf, indexOf, requestId, waitOf } from './read-request.ts'

export function resultRoutes(app: FastifyInstance, context: ApiContext): void {
  const { service, requestLimit, clock } = context
  app.get<{ Params: { handle: string; index: string } }>(
    '/results/:handle/:index',
    async (request, reply) => {
      const id = requestId(request)
      const { handle, index } = request.params
      const answer = await service.result(handle, indexOf(index), {
        request: id,
        disconnect: clientGone(reply.raw, id, clock),
        deadline: deadlineOf(request, requestLimit),
        wait: waitOf(request.query) ?? 0,
      })
      return sendAnswer(reply, answer, id)
    },
  )

  app.delete<{ Params: { id: string } }>('/requests/:id', (request) => {
    const { id } = request.params
    return { request: id, state: service.cancel(id) }
  })
}
