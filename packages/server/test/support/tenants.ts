/** A server that several tenants use, and calls in their names. */
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import type { FastifyRequest } from 'fastify'
import { startServer, type Server, type ServerOptions } from '../../src/server.ts'
import { anonymous, checkAccess, type AccessPolicy, type Caller } from '../../src/http/caller.ts'

/** The tenant is the header: only tests may trust it. None of them is an admin. */
const tenantPolicy: AccessPolicy = {
  callerOf: ({ headers }: FastifyRequest): Caller => {
    const tenant = String(headers['x-tenant'] ?? 'default')
    return {
      ...anonymous,
      kind: 'token',
      id: `token of ${tenant}`,
      name: `token of ${tenant}`,
      tenant,
      roles: headers['x-admin'] === undefined ? ['viewer', 'operator'] : ['admin'],
    }
  },
  check: checkAccess,
}

export async function withTenants(
  options: Omit<ServerOptions, 'policy' | 'store' | 'port'>,
  use: (server: Server) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'heddle-tenants-'))
  try {
    const store = `sqlite:${path.join(folder, 'store.db')}`
    const limits = { loopGap: Infinity }
    await using server = await startServer({
      limits,
      ...options,
      store,
      port: 0,
      policy: tenantPolicy,
    })
    await use(server)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

export interface Answer {
  readonly status: number
  readonly text: string
}

export interface Asked {
  readonly method?: string
  readonly body?: unknown
  readonly bytes?: Uint8Array
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends a request as a tenant. For a stream of events, only the head is read. */
export async function askAs(
  server: Server,
  tenant: string,
  route: string,
  { method, body, bytes, headers }: Asked = {},
): Promise<Answer> {
  const sent = bytes ?? (body === undefined ? undefined : JSON.stringify(body))
  const response = await fetch(server.url + route, {
    method: method ?? (sent === undefined ? 'GET' : 'POST'),
    headers: {
      'x-tenant': tenant,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(bytes !== undefined && { 'content-type': 'application/octet-stream' }),
      ...headers,
    },
    ...(sent !== undefined && { body: sent }),
  })
  const { status } = response
  if (response.headers.get('content-type')?.startsWith('text/event-stream') === true) {
    await response.body?.cancel()
    return { status, text: '' }
  }
  return { status, text: await response.text() }
}

/** Like askAs(), for an answer that must be a success. */
export async function readAs<T>(
  server: Server,
  tenant: string,
  route: string,
  asked?: Asked,
): Promise<T> {
  const { status, text } = await askAs(server, tenant, route, asked)
  if (status >= 300) throw new Error(`${route}: ${status} ${text}`)
  return JSON.parse(text) as T
}
