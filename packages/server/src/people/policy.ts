/**
 * Identifies the caller and decides what it may do.
 *
 *   Authorization: Bearer ─▶ token          no users, no tokens ─▶ every caller may do everything
 *   cookie ─▶ session                       otherwise ─▶ anonymous, which may do what is public
 *
 *  P1  A token that is not valid is refused; an invalid cookie counts as no cookie.
 *  P2  A request with a cookie that changes something brings the CSRF token of its session in a header. Requests with
 *      a token need none: no browser sends it by itself. Routes whose address is a secret need none either.
 *  P3  Tokens have a rate of their own. Workers' beats are far below it.
 */
import type { FastifyRequest } from 'fastify'
import { HeddleError, isError } from '@heddle/core'
import type { Clock } from '@heddle/core/lowlevel'
import type { Contract } from '../client/contract/contract.ts'
import {
  anonymous,
  checkAccess,
  commonTenant,
  isAllowed,
  type AccessPolicy,
  type BegunCall,
  type Caller,
} from '../http/caller.ts'
import { ClientAddresses, type RequestOrigin } from './client-address.ts'
import type { KnownSession, People } from './people.ts'
import { RateLimits } from './rate-limits.ts'
import { isSame } from './secrets.ts'

const cookieName = 'heddle_session'

/** A caller that has not identified itself to a server with users. */
const stranger: Caller = {
  kind: 'anonymous',
  id: 'anonymous',
  name: 'anonymous',
  tenant: commonTenant,
  roles: [],
  scopes: [],
}

/** Milliseconds of the log that are read again: the clocks of servers differ, and what is remembered of a caller is a second old. */
const overlap = 10_000

/** Bytes of a cookie that can be ours. */
const longestCookie = 3_800

export class PeoplePolicy implements AccessPolicy {
  readonly #people: People
  readonly #clock: Clock
  /** The wall time up to which it is known which tokens were refused. */
  #refusedUntil: number
  readonly #sessions = new WeakMap<FastifyRequest, KnownSession>()
  readonly addresses: ClientAddresses
  /** S140: 10 a second, 20 at once. */
  readonly tokenRate: RateLimits
  /** 5 a minute, by address and by name. */
  readonly loginRate: RateLimits

  constructor(
    people: People,
    options: { readonly clock: Clock; readonly trustedProxies: readonly string[] },
  ) {
    this.#people = people
    this.#clock = options.clock
    this.#refusedUntil = options.clock.wallTime()
    this.addresses = new ClientAddresses(options.trustedProxies)
    this.tokenRate = new RateLimits({ perSecond: 10, burst: 20 }, options.clock)
    this.loginRate = new RateLimits({ perSecond: 5 / 60, burst: 5 }, options.clock)
  }

  /** In the same step for a caller that brings nothing, which is every one of a server without users. */
  callerOf(request: FastifyRequest, contract: Contract): Caller | Promise<Caller> {
    const { authorization, cookie } = request.headers
    const isOpen = this.#people.tryIsOpen
    if (authorization === undefined && cookie === undefined && isOpen !== undefined) {
      return isOpen ? anonymous : stranger
    }
    return this.#askStore(request, contract)
  }

  async #askStore(request: FastifyRequest, contract: Contract): Promise<Caller> {
    const { authorization } = request.headers
    if (authorization !== undefined) return this.#callerOfToken(authorization, contract)
    const cookie = readCookie(request.headers.cookie)
    if (cookie !== undefined) {
      const known = await this.#people.sessionOf(cookie)
      if (known !== undefined) {
        this.#sessions.set(request, known)
        return known.caller
      }
    }
    try {
      return (await this.#people.isOpen()) ? anonymous : stranger
    } catch (error) {
      // Health is asked for most when the store cannot be read.
      if (contract.access === 'public') return stranger
      throw error
    }
  }

  /** Users by their session; tokens, of which there may be one for each worker of a fleet, by the log of actions. */
  async refused(calls: readonly BegunCall[]): Promise<readonly BegunCall[]> {
    const users = calls.filter(({ caller }) => caller.kind === 'user')
    const tokens = calls.filter(({ caller }) => caller.kind === 'token')
    const isLost = await Promise.all(users.map((call) => this.#hasLostRight(call)))
    const gone = await this.#refusedTokens(tokens.length > 0)
    const isGone = ({ caller: { name, by } }: BegunCall): boolean =>
      gone.has(`token ${name}`) || (by !== undefined && gone.has(`user ${by}`))
    return [...users.filter((_, index) => isLost[index]), ...tokens.filter(isGone)]
  }

  /** Names of users and tokens whose right was lost since the last look that the store has answered. */
  async #refusedTokens(isAsked: boolean): Promise<ReadonlySet<string>> {
    const now = this.#clock.wallTime()
    // The wall clock may have been set back.
    const since = Math.min(this.#refusedUntil, now) - overlap
    const found = isAsked ? await this.#people.refusedSince(since) : new Set<string>()
    this.#refusedUntil = now
    return found
  }

  async #hasLostRight({ request, contract }: BegunCall): Promise<boolean> {
    const session = this.#sessions.get(request)
    if (session === undefined) return false
    try {
      const known = await this.#people.renewed(session)
      if (known === undefined) return true
      this.#sessions.set(request, known)
      return !isAllowed(known.caller, contract.access)
    } catch (error) {
      if (isError(error, 'HDL_ACCOUNT_BLOCKED')) return true
      throw error
    }
  }

  check(caller: Caller, contract: Contract, request: FastifyRequest): void {
    const session = this.#sessions.get(request)
    const isChange = contract.method !== 'GET'
    if (isChange && session !== undefined && contract.hasSecret !== true) {
      const given = request.headers['x-csrf-token']
      if (typeof given !== 'string' || !isSame(given, session.session.csrf)) {
        throw new HeddleError('HDL_CSRF', { what: `${contract.method} ${contract.path}` })
      }
    }
    checkAccess(caller, contract)
  }

  sessionOf(request: FastifyRequest): KnownSession | undefined {
    return this.#sessions.get(request)
  }

  /** Whether it brings a cookie of ours that names no session: one that is too old, was changed, or has ended. */
  hasStaleCookie(request: FastifyRequest): boolean {
    return !this.#sessions.has(request) && readCookie(request.headers.cookie) !== undefined
  }

  originOf({ raw }: FastifyRequest): RequestOrigin {
    return this.addresses.of(raw)
  }

  async #callerOfToken(authorization: string, contract: Contract): Promise<Caller> {
    const what = `${contract.method} ${contract.path}`
    const [, token] = /^Bearer ([\w-]{1,128})$/i.exec(authorization) ?? []
    if (token === undefined) {
      const problem = 'the header Authorization is not "Bearer TOKEN"'
      throw new HeddleError('HDL_UNAUTHENTICATED', { what, problem })
    }
    const caller = await this.#people.callerOfToken(token)
    if (caller === undefined) {
      const problem = 'the one that came is unknown, revoked or too old'
      throw new HeddleError('HDL_UNAUTHENTICATED', { what, problem })
    }
    if (contract.access !== 'worker') this.tokenRate.take(`token ${caller.id}`, what)
    return caller
  }
}

function readCookie(header: string | undefined): string | undefined {
  if (header === undefined || header.length > 4 * longestCookie) return undefined
  for (const part of header.split(';')) {
    const [name, value] = part.trim().split('=', 2)
    if (name === cookieName && value !== undefined && value.length <= longestCookie) return value
  }
  return undefined
}

export function setCookie(
  value: string,
  { isHttps }: RequestOrigin,
  maxAge: number | undefined,
): string {
  const parts = [`${cookieName}=${value}`, 'Path=/', 'HttpOnly', 'SameSite=Lax']
  if (maxAge !== undefined) parts.push(`Max-Age=${maxAge}`)
  if (isHttps) parts.push('Secure')
  return parts.join('; ')
}
