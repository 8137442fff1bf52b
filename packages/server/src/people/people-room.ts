/** The room of people: login, users, tokens, the log of actions. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { HeddleError, isError } from '@heddle/core'
import type { Kernel } from '@heddle/core/lowlevel'
import * as contracts from '../client/contract/people.ts'
import type { Room } from '../http/room.ts'
import { route, type Call, type Route } from '../http/route.ts'
import { tenantsOf } from '../http/tenancy.ts'
import { auditTo } from './audit.ts'
import type { KnownSession, People } from './people.ts'
import { setCookie, type PeoplePolicy } from './policy.ts'
import type { ActionRecord, TokenRecord, UserRecord } from './people-tables.ts'

export interface PeopleRoomOptions {
  readonly people: People
  readonly policy: PeoplePolicy
  readonly kernel: Kernel
}

export function openPeopleRoom(options: PeopleRoomOptions): Room {
  return {
    name: 'people',
    routes: [...sessionRoutes(options), ...userRoutes(options), ...tokenRoutes(options)],
    start: () => options.people.start(),
    drain: () => Promise.resolve({ isClean: true }),
    stop: () => Promise.resolve(),
    stats: () => ({}),
    metrics: () => [],
  }
}

function sessionRoutes(options: PeopleRoomOptions): Route[] {
  const { people, policy, kernel } = options
  const audit = auditTo(people, policy)
  const info = async (
    known: KnownSession | undefined,
    roles: readonly ('viewer' | 'operator' | 'admin')[],
  ): Promise<contracts.SessionInfo> => ({
    is_open: await people.isOpen(),
    user: known === undefined ? null : { name: known.user.name, role: known.user.role },
    roles: [...roles],
    csrf: known?.session.csrf ?? null,
    expires_at: known?.session.expiresAt ?? null,
  })
  const give = (
    reply: FastifyReply,
    request: FastifyRequest,
    cookie: string,
    session: KnownSession['session'],
  ): void => {
    const left = Math.floor((session.expiresAt - kernel.clock.wallTime()) / 1_000)
    const maxAge = session.remember ? Math.max(0, left) : undefined
    void reply.header('set-cookie', setCookie(cookie, policy.originOf(request), maxAge))
  }
  const clear = (reply: FastifyReply, request: FastifyRequest): void => {
    void reply.header('set-cookie', setCookie('', policy.originOf(request), 0))
  }
  const enter = async (
    { reply, request }: Pick<Call, 'reply' | 'request'>,
    input: { readonly name: string; readonly password: string; readonly remember: boolean },
  ): Promise<contracts.SessionInfo> => {
    const { address } = policy.originOf(request)
    const what = 'A login'
    policy.loginRate.take(`address ${address}`, what)
    policy.loginRate.take(`name ${input.name.toLowerCase()}`, what)
    try {
      const { cookie, known } = await people.login({ ...input, address })
      give(reply, request, cookie, known.session)
      const { name, tenant } = known.user
      await people.audit({ by: name, action: 'login', target: name, address, tenant })
      return await info(known, known.caller.roles)
    } catch (error) {
      if (isError(error, 'HDL_BAD_LOGIN') || isError(error, 'HDL_ACCOUNT_BLOCKED')) {
        // The name as it was given, cut: it may be a password in the wrong field, so unknown ones are left out.
        const target = isError(error, 'HDL_ACCOUNT_BLOCKED') ? error.details.name : ''
        await people.audit({ by: 'anonymous', action: 'login refused', target, address })
      }
      throw error
    }
  }
  return [
    route(contracts.getSession, async ({ caller, request, reply }) => {
      void reply.header('cache-control', 'no-store')
      const known = policy.sessionOf(request)
      if (known !== undefined) {
        const cookie = await people.rotate(known)
        if (cookie !== undefined) give(reply, request, cookie, known.session)
      } else if (policy.hasStaleCookie(request)) clear(reply, request)
      return info(known, caller.roles)
    }),
    route(contracts.login, (call) => {
      void call.reply.header('cache-control', 'no-store')
      const { name, password, remember = false } = call.body
      return enter(call, { name, password, remember })
    }),
    route(contracts.logout, async (call) => {
      const { request, reply } = call
      const known = policy.sessionOf(request)
      if (known !== undefined) {
        await people.logout(known)
        await audit(call, 'logout', known.user.name)
        clear(reply, request)
      }
      return info(undefined, [])
    }),
    route(
      contracts.useLink,
      async (call) => {
        const { params, body, request } = call
        void call.reply.header('cache-control', 'no-store')
        const { address } = policy.originOf(request)
        policy.loginRate.take(`address ${address}`, 'A link')
        const { name, tenant } = await people.useLink(params.secret, body.password)
        const action = 'password set by link'
        await people.audit({ by: name, action, target: name, address, tenant })
        return enter(call, { name, password: body.password, remember: false })
      },
      { tenancy: 'everyone' },
    ),
    route(contracts.changePassword, async (call) => {
      const { body, request } = call
      const known = policy.sessionOf(request)
      if (known === undefined) {
        throw new HeddleError('HDL_UNAUTHENTICATED', { what: 'POST /password' })
      }
      const { name } = known.user
      const { address } = policy.originOf(request)
      policy.loginRate.take(`name ${name}`, 'A change of the password')
      await people.login({ name, password: body.old, remember: false, address })
      await people.changeUser(name, { password: body.new })
      await audit(call, 'password changed', name)
      return enter(call, { name, password: body.new, remember: known.session.remember })
    }),
  ]
}

function userRoutes({ people, policy }: PeopleRoomOptions): Route[] {
  const audit = auditTo(people, policy)
  return [
    route(contracts.listUsers, async () => ({ users: (await people.listUsers()).map(userView) })),
    route(contracts.addUser, async (call) => {
      const user = await people.addUser(call.body)
      await audit(call, 'user added', user.name, user.role)
      const link = user.state === 'pending' ? await people.makeLink(user.name) : undefined
      return { user: userView(user), link: link === undefined ? null : linkPath(link.secret) }
    }),
    route(contracts.changeUser, async (call) => {
      const { role, state } = call.body
      const user = await people.changeUser(call.params.name, { role, state })
      const detail = [role, state].filter((each) => each !== undefined).join(', ')
      await audit(call, state === 'blocked' ? 'user blocked' : 'user changed', user.name, detail)
      return userView(user)
    }),
    route(contracts.linkUser, async (call) => {
      const { secret, expiresAt } = await people.makeLink(call.params.name)
      await audit(call, 'link made', call.params.name)
      return { link: linkPath(secret), expires_at: expiresAt }
    }),
    route(contracts.listSessions, async ({ params }) => {
      const user = await people.findUser(params.name)
      const found = await people.sessionsOf(user.id)
      return {
        // The beginning of a hash names a session, and lets no one in.
        sessions: found.map(({ id, createdAt, expiresAt, address }) => ({
          id: id.slice(0, 16),
          created_at: createdAt,
          expires_at: expiresAt,
          address,
        })),
      }
    }),
    route(contracts.revokeSessions, async (call) => {
      const user = await people.findUser(call.params.name)
      const revoked = await people.revokeSessions(user.id)
      await audit(call, 'sessions revoked', user.name, String(revoked))
      return { revoked }
    }),
  ]
}

function tokenRoutes({ people, policy }: PeopleRoomOptions): Route[] {
  const audit = auditTo(people, policy)
  return [
    route(contracts.listTokens, async () => ({
      tokens: (await people.listTokens()).map(tokenView),
    })),
    route(contracts.addToken, async (call) => {
      const { name, scopes, tenant, expires_in_ms: expiresIn } = call.body
      const made = await people.addToken({
        name,
        scopes,
        tenant,
        by: call.caller.name,
        expiresIn,
      })
      await audit(call, 'token added', made.record.name, scopes.join(', '))
      void call.reply.header('cache-control', 'no-store')
      return { token: made.token, record: tokenView(made.record) }
    }),
    route(contracts.revokeToken, async (call) => {
      const revoked = await people.revokeToken(call.params.id)
      await audit(call, 'token revoked', revoked.name)
      return tokenView(revoked)
    }),
    route(contracts.listActions, async ({ query, caller }) => {
      const { by, action, target, before, limit = 100 } = query
      const tenant = tenantsOf(caller)
      const found = await people.searchActions({ by, action, target, tenant, before, limit })
      const next = found.length < limit ? null : (found.at(-1)?.at ?? null)
      return { actions: found.map(actionView), next }
    }),
    route(contracts.getRateLimit, ({ caller, request }) => {
      const isToken = caller.kind === 'token'
      const { address } = policy.originOf(request)
      const { limit, remaining, resetMs } = isToken
        ? policy.tokenRate.budget(`token ${caller.id}`)
        : policy.loginRate.budget(`address ${address}`)
      return { limit, remaining, reset_ms: resetMs }
    }),
  ]
}

function linkPath(secret: string): string {
  return `/ui/#/link/${secret}`
}

function userView({ name, role, state, tenant, createdAt }: UserRecord): contracts.User {
  return { name, role, state, tenant, created_at: createdAt }
}

function tokenView(token: TokenRecord): contracts.Token {
  return {
    id: token.id,
    name: token.name,
    scopes: [...token.scopes],
    tenant: token.tenant,
    created_by: token.createdBy,
    created_at: token.createdAt,
    expires_at: token.expiresAt ?? null,
    revoked_at: token.revokedAt ?? null,
  }
}

function actionView({ detail, ...action }: ActionRecord): contracts.Action {
  const { id, at, by, action: word, target, address } = action
  return { id, at, by, action: word, target, address, detail: detail ?? null }
}
