/** Addresses that a server listens on, from the first connection to the last answer. */
import { lookup } from 'node:dns/promises'
import type { Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { HeddleError } from '@heddle/core'
import type { Clock } from '@heddle/core/lowlevel'
import type { OpenResponses } from './lifecycle/open-responses.ts'

export function urlOf({ family, address, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

interface Listening {
  readonly host: string
  readonly port: number
  readonly backlog: number
}

export async function listen(app: FastifyInstance, listening: Listening): Promise<void> {
  const { host, port } = listening
  try {
    await app.listen({ ...listening })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const problem = listenProblems[code ?? ''] ?? message
    throw new HeddleError('HDL_CANNOT_LISTEN', { host, port, problem }, { cause: error })
  }
}

const listenProblems: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there',
  EADDRNOTAVAIL: 'this machine has no such address',
  EACCES: 'this user may not',
  ENOTFOUND: 'the name is not known',
}

/** What the name means on this machine: often an address of each family, and clients take either. */
export async function localAddresses(): Promise<string[]> {
  const found = await lookup('localhost', { all: true }).catch(() => [])
  const addresses = new Set(found.map(({ address }) => address))
  return addresses.size === 0 ? ['localhost'] : [...addresses]
}

/** Listens on one more address. Without it the server is reached by the first one. */
export async function listenToo(server: HttpServer, listening: Listening): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  server.once('listening', resolve)
  server.once('error', () => resolve())
  server.listen(listening)
  await promise
}

/** Milliseconds in which last answers are read, before connections are cut. */
export const closeGrace = 1_000
/** Milliseconds without a connection after which no client is on its way. */
export const closeQuiet = 100

/**
 * A client that is being answered gets the whole answer; a client that is still sending a request does not keep the
 * server open.
 */
export async function closeApp(
  app: FastifyInstance,
  servers: readonly HttpServer[],
  open: OpenResponses,
  clock: Clock,
): Promise<void> {
  const cutAt = clock.now() + closeGrace
  await open.settled(closeGrace, clock)
  const rest = Math.max(0, cutAt - clock.now())
  const timer = clock.setTimer(rest, () => {
    for (const server of servers) server.closeAllConnections()
  })
  const [, ...others] = servers
  await Promise.all([app.close(), ...others.map((server) => closeServer(server))])
  timer.cancel()
}

async function closeServer(server: HttpServer): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  // An error means that it does not listen.
  server.close(() => resolve())
  server.closeIdleConnections()
  await promise
}
