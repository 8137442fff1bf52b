/** `heddle computations`: the computations of a server, and those that it has set aside. */
import type { Computation } from '@heddle/server/client'
import { withServer, type ServerSettings } from '../schedules/call-server.ts'

export type ComputationState = Computation['state']

/** The most that the server lists. */
const limit = 1_000

/** *Cancellation*: none; it reads a list. */
export function listComputations(
  settings: ServerSettings & { readonly state: ComputationState | undefined },
): Promise<void> {
  return withServer(settings, async ({ client, line, answer }) => {
    const { state } = settings
    const { body } = await client.call('GET /computations', { query: { limit } })
    const computations = body.computations.filter((each) => (state ?? each.state) === each.state)
    answer({ ...body, computations })
    if (computations.length === 0) line(state === undefined ? 'Nothing is computed now.' : 'None.')
    for (const each of computations) line(summary(each))
    const left = body.total - body.computations.length
    if (left > 0) line(`and ${left} more`)
    if (body.servers_missing !== undefined && body.servers_missing > 0) {
      line(`${body.servers_missing} servers did not answer: their computations are not listed.`)
    }
  })
}

/** *Cancellation*: none; it sends one request. */
export function retryComputation(
  settings: ServerSettings & { readonly handle: string },
): Promise<void> {
  return withServer(settings, async ({ client, line, answer }) => {
    const { handle } = settings
    const { body } = await client.call('POST /computations/:handle/retry', { params: { handle } })
    answer(body)
    line(`${handle} runs again.`)
  })
}

/** *Cancellation*: none; it sends one request. */
export function cancelComputation(
  settings: ServerSettings & { readonly handle: string },
): Promise<void> {
  return withServer(settings, async ({ client, line, answer }) => {
    const { handle } = settings
    const { body } = await client.call('DELETE /computations/:handle', { params: { handle } })
    answer(body)
    line(body.state === 'cancelled' ? `Cancelled ${handle}.` : `${handle} is done already.`)
  })
}

function summary({ handle, job, tenant, state, waits_for: reason }: Computation): string {
  const why = reason === undefined ? '' : `  ${reason}`
  return `${state.padEnd(9)} ${handle}  ${job} (${tenant})${why}`
}
