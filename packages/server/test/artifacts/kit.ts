/** A lease of a campaign over HTTP, and uploads with it. */
import { createHash } from 'node:crypto'
import type { Server } from '../../src/server.ts'

export interface Held {
  readonly lease: string
  readonly epoch: number
  readonly worker: string
  readonly campaign: string
}

async function post<T>(server: Pick<Server, 'url'>, route: string, body: unknown): Promise<T> {
  const response = await fetch(server.url + route, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return (await response.json()) as T
}

/** A lease of a campaign. */
export async function hold(server: Pick<Server, 'url'>): Promise<Held> {
  const { id } = await post<{ id: string }>(server, '/campaigns', {
    name: 'match',
    job: 'play',
    units: 10,
  })
  const worker = {
    id: 'worker-1',
    name: 'w',
    threads: 1,
    memory: 1,
    capabilities: [],
    tags: [],
    system: 'linux-x64',
    jobs: [{ name: 'play', version: '1' }],
  }
  const { offer } = await post<{ offer: { lease: string; epoch: number } }>(
    server,
    '/fleet/claim',
    { worker, request: 'r', wait_ms: 0 },
  )
  const call = { lease: offer.lease, epoch: offer.epoch, worker: worker.id }
  await post(server, '/fleet/accept', call)
  return { ...call, campaign: id }
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

export function target(held: Held, name: string, bytes: Uint8Array, more: object = {}): string {
  const query = new URLSearchParams({
    name,
    epoch: String(held.epoch),
    worker: held.worker,
    length: String(bytes.length),
    sha256: sha256(bytes),
    ...more,
  })
  return `/fleet/artifacts/${held.lease}?${query.toString()}`
}

export async function upload(
  server: Server,
  held: Held,
  name: string,
  bytes: Uint8Array<ArrayBuffer>,
  more: object = {},
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(server.url + target(held, name, bytes, more), {
    method: 'PUT',
    headers: { 'content-type': 'application/octet-stream' },
    body: bytes,
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}
