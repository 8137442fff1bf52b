/** Calls of a worker over HTTP. */
import { call, type Reply } from '../support/client.ts'
import type { Server } from '../../src/server.ts'

export interface HttpLease {
  readonly lease: string
  readonly epoch: number
  readonly worker: string
}

let requests = 0

/** A claim of a worker that can play; `full` names jobs that it has no place for. */
export function claimBody(
  id: string,
  wait: number,
  full?: readonly string[],
): { readonly worker: object; readonly request: string; readonly wait_ms: number } {
  const worker = {
    id,
    name: id,
    threads: 1,
    memory: 1_000,
    capabilities: [],
    tags: [],
    system: 'linux-x64',
    jobs: [{ name: 'play', version: '1' }],
    ...(full === undefined ? {} : { full }),
  }
  return { worker, request: `request-${++requests}`, wait_ms: wait }
}

export function claimAs(server: Server, id: string, wait = 0): Promise<Reply> {
  return call(server, '/fleet/claim', { body: claimBody(id, wait) })
}

/** Claims and accepts. */
export async function holdAs(server: Server, id: string): Promise<HttpLease> {
  const { body } = await claimAs(server, id)
  const offer = body['offer'] as { readonly lease: string; readonly epoch: number } | undefined
  if (offer === undefined) throw new Error(JSON.stringify(body))
  const held = { lease: offer.lease, epoch: offer.epoch, worker: id }
  await call(server, '/fleet/accept', { body: held })
  return held
}

export function beatOf(server: Server, { worker, lease, epoch }: HttpLease): Promise<Reply> {
  return call(server, '/fleet/beat', { body: { worker, leases: [{ lease, epoch }] } })
}

/** Why a claim was answered with nothing. */
export interface Empty {
  readonly reason: string
  readonly message: string
  readonly retry_after_ms: number
}

export function emptyOf({ body }: Reply): Empty | undefined {
  return body['empty'] as Empty | undefined
}
