/** What tests of routes say to a server. */
import type { Server } from '../../src/server.ts'
import { begin, call, type Call, type Reply } from './client.ts'
import { until } from '../../../core/test/kernel/until.ts'

export interface SubmitOptions {
  /** In the form of an address: `wait=1000&slot=left`. */
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Milliseconds that no test lasts. */
export const long = 'wait=60000'

export function submit(
  server: Server,
  job: string,
  input: unknown,
  { query = '', headers = {} }: SubmitOptions = {},
): Call {
  return begin(server, `/jobs/${job}?${query}`, { body: input, headers })
}

/** Submits and waits for the result. */
export function compute(
  server: Server,
  job: string,
  input: unknown,
  { query = '', headers = {} }: SubmitOptions = {},
): Call {
  return submit(server, job, input, { query: `${long}&${query}`, headers })
}

export function fetchResult(server: Server, handle: unknown, index = 0, query = ''): Call {
  return begin(server, `/results/${String(handle)}/${index}?${query}`)
}

export function cancel(server: Server, request: string): Promise<Reply> {
  return call(server, `/requests/${request}`, { method: 'DELETE' })
}

/** Waits until this many requests wait for results. */
export function waiting(server: Server, count: number): Promise<void> {
  return until(() => server.stats().registry.active === count)
}

/** Everything has ended and was counted. */
export async function quiet(server: Server): Promise<void> {
  await until(() => {
    const { works, requests, slots, registry, prepare, items } = server.stats()
    const seats = [prepare.queue, items.queue].map(
      (queue) => queue.reserved + queue.queued + queue.running,
    )
    return [works, requests, slots, registry.active, ...seats].every((count) => count === 0)
  })
}
