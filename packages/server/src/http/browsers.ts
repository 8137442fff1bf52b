/**
 * Keeps web pages away: a browser sends whatever a page requests, also to this machine.
 *
 * B1. A change says that it is JSON, also without a body, unless its route takes forms or raw bodies. A page of another site
 *     may send forms and plain text without asking; for JSON its browser asks first, and this server never allows it.
 * B2. Changes (POST, PUT, PATCH, DELETE) are refused to pages of another site, which their browser names as the origin.
 * B3. A server that only this machine can reach answers to its own names only: a page may let its own name point
 *     to this machine (DNS rebinding), and is of the same site then.
 *
 * Programs send no origin, and the address they call as the host. Looked at before a seat is taken.
 *
 * Known limit: a server that others can reach does not know its names; there the proxy in front of it has to enforce
 * B3.
 */
import type { AddressInfo } from 'node:net'
import { BlockList, isIP, isIPv6 } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { HeddleError } from '@heddle/core'
import type { BodyKind } from '../client/contract/contract.ts'

const json = /^application\/json *(;|$)/i

/** B1, by the kind of body of the route. */
const typeByKind: Readonly<Record<BodyKind, RegExp>> = {
  json,
  none: json,
  form: /^application\/x-www-form-urlencoded *(;|$)/i,
  raw: /./,
}

/** @param host What the server listens on. */
export function refuseForeignPages(app: FastifyInstance, host: string): void {
  let isLocal: boolean | undefined
  app.addHook('onRequest', (request, _, done) => {
    isLocal ??= isLoopback((app.server.address() as AddressInfo).address)
    done(problemOf(request, isLocal ? host : undefined))
  })
}

/** @param ownName Of a server that only this machine can reach. */
function problemOf(request: FastifyRequest, ownName: string | undefined): Error | undefined {
  const { method, headers, is404 } = request
  const { host, origin, 'content-type': type } = headers
  if (ownName !== undefined && host !== undefined && !isOwn(host, ownName)) {
    return new HeddleError('HDL_FORBIDDEN_HOST', { host, own: ownName })
  }
  const isChange = method !== 'GET' && method !== 'HEAD'
  if (isChange && origin !== undefined && hostOf(origin) !== host?.toLowerCase()) {
    return new HeddleError('HDL_FORBIDDEN_ORIGIN', { origin })
  }
  if (!isChange || method === 'DELETE' || is404) return undefined
  const { contract } = request.routeOptions.config
  const expected = typeByKind[contract?.body ?? 'json']
  return expected.test(type ?? '') ? undefined : new HeddleError('HDL_NOT_JSON', { type })
}

/** With the port, as in the header `Host`; undefined for `null`, which is what pages without an address have. */
function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined
}

/** The port does not count: a client behind a tunnel has used another one. */
function isOwn(header: string, ownName: string): boolean {
  const [, address, name] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(header.toLowerCase()) ?? []
  const host = address ?? name?.replace(/\.$/, '')
  return host !== undefined && (isLoopback(host) || host === ownName.toLowerCase())
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8)
loopback.addAddress('::1', 'ipv6')

/** Whether only this machine can be meant. */
export function isLoopback(host: string): boolean {
  if (isIP(host) === 0) return host === 'localhost' || host.endsWith('.localhost')
  return loopback.check(host, isIPv6(host) ? 'ipv6' : 'ipv4')
}
