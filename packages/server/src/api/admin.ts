/** What operators do: look at the cache, empty it, drain. */
import type { FastifyInstance } from 'fastify'
import { HeddleError } from '@heddle/core'
import type { JobService } from '../service/service.ts'
import type { ApiContext } from './context.ts'

export function adminRoutes(app: FastifyInstance, { service, drain }: ApiContext): void {
  app.post('/cache', (request) => manage(service, bodyOf(request.body)))

  app.post('/drain', (request, reply) => {
    const { deadline_ms: deadline } = bodyOf(request.body)
    if (deadline !== undefined && !(typeof deadline === 'number' && deadline >= 0)) {
      throw bad('deadline_ms', 'a number of milliseconds')
    }
    void drain.begin({ deadline })
    return reply.code(202).send({ state: drain.state })
  })
}

/** *Cancellation*: none: it waits for the store only. */
async function manage(service: JobService, { action, handle }: Body): Promise<object> {
  switch (action) {
    case 'info':
      return { success: true, cache: service.stats().cache }
    case 'flush':
      await service.forgetAll()
      return { success: true }
    case 'delete':
      if (typeof handle !== 'string' || handle === '')
        throw bad('handle', 'the handle whose results to delete')
      return { success: await service.forget(handle), handle }
    default:
      throw bad('action', '"info", "flush" or "delete"')
  }
}

type Body = Readonly<Record<string, unknown>>

function bodyOf(body: unknown): Body {
  if (body === undefined || body === '') return {}
  let value: unknown
  try {
    value = JSON.parse(body as string)
  } catch {
    // Told below: it is not an object.
  }
  if (typeof value === 'object' && value !== null) return value as Body
  throw bad('The body', 'a JSON object')
}

function bad(what: string, expected: string): HeddleError {
  return new HeddleError('HDL_BAD_INPUT', { what, problem: `expected ${expected}.` })
}
