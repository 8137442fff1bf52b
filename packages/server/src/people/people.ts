/**
 * Users, their sessions, tokens, and the log of changes.
 *
 *   user:     pending ── link used ─▶ active ◀──▶ blocked
 *   session:  open ── logout, revoke, age, block ─▶ gone      a new secret every hour; the old one works a minute more
 *   token:    valid ── revoke, age ─▶ refused
 *
 * The keys of cookies are in cookie-keys.ts.
 *
 *  U1  A caller is looked up in the store at most a second after the last lookup: a user or token blocked on any
 *      server is refused on all of them within two seconds.
 *  U2  Unknown names and wrong passwords are refused with the same words, after the same work.
 *  U3  Secrets are stored as hashes; the store alone is not enough to log in.
 *  U4  The last active admin is neither blocked nor given another role.
 *  U5  Every change of people, and every refused login, is in the log.
 *  U6  Lines of the log stay for `limits.actionAge`, then the servers remove them: the log does not grow without end.
 */
import { HeddleError } from '@heddle/core'
import { erase, write, type Kernel, type Stored, type Tables } from '@heddle/core/lowlevel'
import { commonTenant, type Caller, type Role } from '../http/caller.ts'
import { CookieKeys } from './cookie-keys.ts'
import { isSame, newId, newSecret, Passwords, sha256 } from './secrets.ts'
import {
  actions,
  links,
  sessions,
  tokens,
  users,
  type ActionRecord,
  type SessionRecord,
  type TokenRecord,
  type UserRecord,
  type UserState,
} from './people-tables.ts'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** How long sessions last: since the login, by whether the user wanted to be remembered. */
const sessionAge = { usual: 12 * hour, remembered: 400 * day }
const rotateEvery = hour
/** An old secret works this long after a rotation: other requests of the page may still carry it. */
const rotationGrace = minute
const linkAge: number = 15 * minute
/** `limits.actionAge` when absent. */
const usualActionAge = 400 * day
const sweepEvery = 10 * minute
/** Lines of the log that one sweep removes. When there are more, the next line that is written removes them. */
const actionsAtOnce = 1_000
const lookEvery = second
/** Callers that are remembered between lookups. */
const mostKnown = 20_000

export const tokenScopes = ['read', 'operate', 'submit', 'worker'] as const
export type TokenScope = (typeof tokenScopes)[number]

const roleOrder: readonly Role[] = ['viewer', 'operator', 'admin']

/** The caller of a request. */
export interface KnownSession {
  readonly caller: Caller
  readonly session: Stored<SessionRecord>
  readonly user: Stored<UserRecord>
  /** Whether its cookie was signed before the last rotation of the key. */
  readonly isOfEarlierKey: boolean
}

interface Known<T> {
  readonly at: number
  readonly value: Promise<T>
}

interface KnownOpen extends Known<boolean> {
  /** Undefined until the store has answered. */
  settled?: boolean
}

export interface AuditInput {
  readonly by: string
  readonly action: string
  readonly target: string
  readonly address: string
  readonly detail?: string | undefined
  /** Tenant of the actor: the common one when absent. */
  readonly tenant?: string | undefined
}

export class People {
  readonly #tables: Tables
  readonly #kernel: Kernel
  readonly #passwords = new Passwords()
  readonly #sessions = new Map<string, Known<KnownSession | undefined>>()
  readonly #tokens = new Map<string, Known<Caller | undefined>>()
  readonly #keys: CookieKeys
  readonly #actionAge: number
  #open: KnownOpen | undefined
  #sweptAt = 0

  /** @param options `actionAge`: milliseconds that lines of the log stay. */
  constructor(
    tables: Tables,
    kernel: Kernel,
    { actionAge = usualActionAge }: { readonly actionAge?: number | undefined } = {},
  ) {
    this.#tables = tables
    this.#kernel = kernel
    this.#actionAge = actionAge
    this.#keys = new CookieKeys(tables, kernel.clock, sessionAge.remembered)
  }

  /** Reads the key that cookies are signed with, or makes it. *Cancellation*: none. */
  async start(): Promise<void> {
    await this.#keys.start()
  }

  /** Whether there are no callers to distinguish: no user and no token. Looked at once a second. */
  async isOpen(): Promise<boolean> {
    if (!this.#isOpenFresh(this.#open)) {
      const known: KnownOpen = { at: this.#kernel.clock.now(), value: this.#lookOpen() }
      this.#open = known
      known.value.then(
        (isOpen) => (known.settled = isOpen),
        () => {
          if (this.#open === known) this.#open = undefined
        },
      )
    }
    return this.#open!.value
  }

  /** {@link isOpen} without waiting; undefined when the store has to be asked. */
  get tryIsOpen(): boolean | undefined {
    return this.#isOpenFresh(this.#open) ? this.#open?.settled : undefined
  }

  #isOpenFresh(known: KnownOpen | undefined): boolean {
    return known !== undefined && this.#kernel.clock.now() - known.at < lookEvery
  }

  async #lookOpen(): Promise<boolean> {
    const [[user], [token]] = await Promise.all([
      this.#tables.list(users, { limit: 1 }),
      this.#tables.list(tokens, { limit: 1 }),
    ])
    return user === undefined && token === undefined
  }

  // Users.

  /** @throws `HDL_NAME_TAKEN`, `HDL_BAD_INPUT`. */
  async addUser(input: {
    readonly name: string
    readonly role: Role
    readonly password?: string | undefined
    readonly tenant?: string | undefined
  }): Promise<UserRecord> {
    const name = readName(input.name)
    const password = input.password === undefined ? undefined : await this.#hash(input.password)
    const user: UserRecord = {
      id: newId(),
      name,
      role: input.role,
      state: password === undefined ? 'pending' : 'active',
      tenant: input.tenant ?? commonTenant,
      createdAt: this.#kernel.clock.wallTime(),
      ...(password !== undefined && { password }),
    }
    const refused = await this.#tables.change([write(users, user, 'absent')])
    this.#open = undefined
    if (refused !== undefined) throw new HeddleError('HDL_NAME_TAKEN', { name })
    return user
  }

  async listUsers(): Promise<readonly UserRecord[]> {
    return this.#tables.list(users, { by: 'name', limit: 1_000 })
  }

  /** @throws `HDL_UNKNOWN_USER`. */
  async findUser(name: string): Promise<Stored<UserRecord>> {
    const found = await this.#byName(name)
    if (found === undefined) throw new HeddleError('HDL_UNKNOWN_USER', { name })
    return found
  }

  /** @throws `HDL_UNKNOWN_USER`, `HDL_LAST_ADMIN`, `HDL_STORE_FAILED` when it was changed at the same moment. */
  async changeUser(
    name: string,
    change: {
      readonly role?: Role | undefined
      readonly state?: Exclude<UserState, 'pending'> | undefined
      readonly password?: string | undefined
    },
  ): Promise<UserRecord> {
    const password = change.password === undefined ? undefined : await this.#hash(change.password)
    const { revision, ...user } = await this.findUser(name)
    const changed: UserRecord = {
      ...user,
      ...(change.role !== undefined && { role: change.role }),
      ...(change.state !== undefined && { state: change.state }),
      ...(password !== undefined && { password, state: change.state ?? 'active' }),
    }
    const isAdmin = ({ role, state }: UserRecord): boolean => role === 'admin' && state === 'active'
    if (isAdmin(user) && !isAdmin(changed)) {
      const admins = (await this.listUsers()).filter(isAdmin)
      if (admins.length <= 1) throw new HeddleError('HDL_LAST_ADMIN', { name: user.name })
    }
    const refused = await this.#tables.change([write(users, changed, revision)])
    if (refused !== undefined) return this.changeUser(name, change)
    if (changed.state !== 'active' || password !== undefined) await this.revokeSessions(user.id)
    return changed
  }

  /** A link that sets the password of a user once, within 15 minutes: the secret part of it. */
  async makeLink(name: string): Promise<{ readonly secret: string; readonly expiresAt: number }> {
    const user = await this.findUser(name)
    const secret = newSecret()
    const expiresAt = this.#kernel.clock.wallTime() + linkAge
    const link = { id: sha256(secret), user: user.id, expiresAt }
    await this.#tables.change([write(links, link, 'absent')])
    return { secret, expiresAt }
  }

  /** @throws `HDL_BAD_LINK` for one that was used, is too old, or never existed. */
  async useLink(secret: string, password: string): Promise<UserRecord> {
    const id = sha256(secret)
    const [link] = await this.#tables.byIds(links, [id])
    if (link === undefined || link.expiresAt <= this.#kernel.clock.wallTime()) {
      throw new HeddleError('HDL_BAD_LINK', {})
    }
    const hashed = await this.#hash(password)
    const [user] = await this.#tables.byIds(users, [link.user])
    if (user === undefined || user.state === 'blocked') throw new HeddleError('HDL_BAD_LINK', {})
    const { revision, ...record } = user
    const changed: UserRecord = { ...record, password: hashed, state: 'active' }
    const refused = await this.#tables.change([
      erase(links, id, link.revision),
      write(users, changed, revision),
    ])
    if (refused !== undefined) throw new HeddleError('HDL_BAD_LINK', {})
    await this.revokeSessions(user.id)
    return changed
  }

  // Sessions.

  /**
   * *Cancellation*: none; it hashes a password.
   * @throws `HDL_BAD_LOGIN`, the same for unknown names and wrong passwords (U2); `HDL_ACCOUNT_BLOCKED`.
   */
  async login(input: {
    readonly name: string
    readonly password: string
    readonly remember: boolean
    readonly address: string
  }): Promise<{ readonly cookie: string; readonly known: KnownSession }> {
    const user = await this.#byName(input.name)
    const isRight = await this.#passwords.verify(user?.password, input.password)
    if (!isRight || user === undefined) throw new HeddleError('HDL_BAD_LOGIN', {})
    if (user.state === 'blocked') throw new HeddleError('HDL_ACCOUNT_BLOCKED', { name: user.name })
    const now = this.#kernel.clock.wallTime()
    await this.#sweep(now)
    return this.#openSession(user, {
      user: user.id,
      csrf: newSecret(),
      createdAt: now,
      rotatedAt: now,
      expiresAt: now + (input.remember ? sessionAge.remembered : sessionAge.usual),
      remember: input.remember,
      address: input.address,
    })
  }

  async #openSession(
    user: Stored<UserRecord>,
    record: Omit<SessionRecord, 'id'>,
  ): Promise<{ readonly cookie: string; readonly known: KnownSession }> {
    const secret = newSecret()
    const session = { id: sha256(secret), ...record }
    await this.#tables.change([write(sessions, session, 'absent')])
    const known = {
      caller: callerOfUser(user),
      session: { ...session, revision: 1 },
      user,
      isOfEarlierKey: false,
    }
    return { cookie: await this.#keys.sign(secret), known }
  }

  /** The user of a cookie; undefined for one that is not ours, too old, or revoked. */
  async sessionOf(cookie: string): Promise<KnownSession | undefined> {
    const read = await this.#keys.read(cookie)
    if (read === undefined) return undefined
    const id = sha256(read.secret)
    const known = await this.#remember(this.#sessions, id, () => this.#lookSession(id))
    return known && { ...known, isOfEarlierKey: read.isOfEarlierKey }
  }

  /**
   * A session as it stands now, for a request that takes long; undefined when it has ended. One that has another secret by now ends
   * with its user only.
   *
   * @throws `HDL_ACCOUNT_BLOCKED`.
   */
  async renewed(known: KnownSession): Promise<KnownSession | undefined> {
    const { id, createdAt, expiresAt, remember } = known.session
    const found = await this.#remember(this.#sessions, id, () => this.#lookSession(id))
    const wholeAge = remember ? sessionAge.remembered : sessionAge.usual
    if (found !== undefined || expiresAt >= createdAt + wholeAge) return found
    const [user] = await this.#tables.byIds(users, [known.user.id])
    if (user === undefined) return undefined
    if (user.state !== 'active') throw new HeddleError('HDL_ACCOUNT_BLOCKED', { name: user.name })
    return { ...known, caller: callerOfUser(user), user }
  }

  async #lookSession(id: string): Promise<KnownSession | undefined> {
    const [session] = await this.#tables.byIds(sessions, [id])
    if (session === undefined || session.expiresAt <= this.#kernel.clock.wallTime())
      return undefined
    const [user] = await this.#tables.byIds(users, [session.user])
    if (user === undefined) return undefined
    if (user.state !== 'active') throw new HeddleError('HDL_ACCOUNT_BLOCKED', { name: user.name })
    return { caller: callerOfUser(user), session, user, isOfEarlierKey: false }
  }

  /**
   * Another secret for a session that has had its own for an hour, or whose cookie was signed with an earlier key (K1); undefined
   * for others.
   */
  async rotate({ session, user, isOfEarlierKey }: KnownSession): Promise<string | undefined> {
    const now = this.#kernel.clock.wallTime()
    // An old secret that another request has replaced is not replaced again.
    const isResigned = isOfEarlierKey && session.expiresAt > now + rotationGrace
    if (!isResigned && now - session.rotatedAt < rotateEvery) return undefined
    const { revision, id, ...record } = session
    const old = { ...record, id, expiresAt: Math.min(session.expiresAt, now + rotationGrace) }
    // If two requests come at the same moment, one rotates.
    const refused = await this.#tables.change([write(sessions, old, revision)])
    if (refused !== undefined) return undefined
    this.#sessions.delete(id)
    const { cookie } = await this.#openSession(user, { ...record, rotatedAt: now })
    return cookie
  }

  async logout({ session }: KnownSession): Promise<void> {
    await this.#tables.change([erase(sessions, session.id)])
    this.#sessions.delete(session.id)
  }

  async sessionsOf(user: string): Promise<readonly SessionRecord[]> {
    const where = { user }
    return this.#tables.list(sessions, { where, by: 'createdAt', descending: true, limit: 1_000 })
  }

  /** All of a user, or one of them. Gives how many there were. */
  async revokeSessions(user: string, only?: string): Promise<number> {
    const all = await this.sessionsOf(user)
    const gone = only === undefined ? all : all.filter(({ id }) => id.startsWith(only))
    if (gone.length > 0) await this.#tables.change(gone.map(({ id }) => erase(sessions, id)))
    for (const { id } of gone) this.#sessions.delete(id)
    return gone.length
  }

  /**
   * Signs cookies with a new key from now on. Cookies of the old one stay valid until their sessions are too old,
   * unless all sessions end: then every user logs in again. Resolves with how many sessions have ended.
   *
   * *Cancellation*: none.
   */
  async rotateKey({ endSessions }: { readonly endSessions: boolean }): Promise<number> {
    await this.#keys.rotate(!endSessions)
    if (!endSessions) return 0
    this.#sessions.clear()
    let ended = 0
    for (let count = -1; count !== 0; ended += count) {
      count = await this.#tables.removeBelow(sessions, 'expiresAt', Number.MAX_SAFE_INTEGER)
    }
    return ended
  }

  /** Removes sessions, links and lines of the log that are too old, now and then: what adds them also removes them (U6). */
  async #sweep(now: number): Promise<void> {
    if (now - this.#sweptAt < sweepEvery) return
    this.#sweptAt = now
    await this.#tables.removeBelow(sessions, 'expiresAt', now)
    await this.#tables.removeBelow(links, 'expiresAt', now)
    if (this.#actionAge === Infinity) return
    const oldest = now - this.#actionAge
    const count = await this.#tables.removeBelow(actions, 'at', oldest, actionsAtOnce)
    if (count === actionsAtOnce) this.#sweptAt = -Infinity
  }

  // Tokens.

  /** The token itself is shown once: only its hash is stored. @throws `HDL_NAME_TAKEN`. */
  async addToken(input: {
    readonly name: string
    readonly scopes: readonly TokenScope[]
    readonly tenant?: string | undefined
    readonly by: string
    readonly expiresIn?: number | undefined
  }): Promise<{ readonly token: string; readonly record: TokenRecord }> {
    const id = newId()
    const secret = newSecret()
    const now = this.#kernel.clock.wallTime()
    const record: TokenRecord = {
      id,
      name: readName(input.name),
      hash: sha256(secret),
      scopes: [...input.scopes],
      tenant: input.tenant ?? commonTenant,
      createdBy: input.by,
      createdAt: now,
      ...(input.expiresIn !== undefined && { expiresAt: now + input.expiresIn }),
    }
    const refused = await this.#tables.change([write(tokens, record, 'absent')])
    this.#open = undefined
    if (refused !== undefined) throw new HeddleError('HDL_NAME_TAKEN', { name: record.name })
    return { token: `hdl_${id}_${secret}`, record }
  }

  async listTokens(): Promise<readonly TokenRecord[]> {
    return this.#tables.list(tokens, { by: 'createdAt', descending: true, limit: 1_000 })
  }

  /** Finds the token by id or name. @throws `HDL_UNKNOWN_TOKEN`. */
  async revokeToken(which: string): Promise<TokenRecord> {
    const found = (await this.listTokens()).find(({ id, name }) => id === which || name === which)
    if (found === undefined) throw new HeddleError('HDL_UNKNOWN_TOKEN', { token: which })
    const { revision: _revision, ...record } = found as Stored<TokenRecord>
    const revoked = { ...record, revokedAt: record.revokedAt ?? this.#kernel.clock.wallTime() }
    await this.#tables.change([write(tokens, revoked)])
    this.#tokens.delete(tokenKey(found.id, found.hash))
    return revoked
  }

  /** The caller that a token belongs to; undefined for one that is not valid. */
  async callerOfToken(token: string): Promise<Caller | undefined> {
    const [, id, secret] = /^hdl_([0-9a-f]{18})_([\w-]{43})$/.exec(token) ?? []
    if (id === undefined || secret === undefined) return undefined
    const key = tokenKey(id, sha256(secret))
    return this.#remember(this.#tokens, key, () => this.#lookToken(id, secret))
  }

  async #lookToken(id: string, secret: string): Promise<Caller | undefined> {
    const [token] = await this.#tables.byIds(tokens, [id])
    if (token === undefined || !isSame(token.hash, sha256(secret))) return undefined
    const now = this.#kernel.clock.wallTime()
    if (token.revokedAt !== undefined || (token.expiresAt ?? Infinity) <= now) return undefined
    const { name, tenant, scopes, createdBy: by } = token
    // Tokens made by a blocked user are blocked with it.
    const maker = await this.#byName(by)
    if (maker?.state === 'blocked') throw new HeddleError('HDL_ACCOUNT_BLOCKED', { name: by })
    return { kind: 'token', id, name, tenant, roles: [], scopes, by }
  }

  // The log.

  async audit(input: AuditInput): Promise<void> {
    const { by, action, target, address, detail, tenant = commonTenant } = input
    const at = this.#kernel.clock.wallTime()
    const record: ActionRecord = {
      id: `${String(at).padStart(15, '0')}-${newId()}`,
      at,
      by,
      action,
      target,
      address,
      tenant,
      ...(detail !== undefined && { detail }),
    }
    await this.#tables.change([write(actions, record, 'absent')])
    try {
      await this.#sweep(at)
    } catch {
      // The line is written; a later one sweeps again.
    }
  }

  /** Newest first, by one of three fields. */
  async searchActions(query: {
    readonly by?: string | undefined
    readonly action?: string | undefined
    readonly target?: string | undefined
    /** Lines of this tenant; all when undefined. */
    readonly tenant?: string | undefined
    readonly before?: number | undefined
    readonly limit: number
  }): Promise<readonly ActionRecord[]> {
    const { by, action, target, tenant, before, limit } = query
    const where = {
      ...(by !== undefined && { by }),
      ...(action !== undefined && { action }),
      ...(target !== undefined && { target }),
      ...(tenant !== undefined && { tenant }),
    }
    return this.#tables.list(actions, { where, by: 'at', below: before, descending: true, limit })
  }

  /** The callers refused since then: `user ann`, `token ci`. */
  async refusedSince(at: number): Promise<ReadonlySet<string>> {
    const refused = new Set<string>()
    for (const name of await this.#targetsSince('user blocked', at)) {
      // Decided by the state: the lines after the block may be of an unblock, or of another role.
      if ((await this.#byName(name))?.state === 'blocked') refused.add(`user ${name}`)
    }
    for (const name of await this.#targetsSince('token revoked', at)) refused.add(`token ${name}`)
    return refused
  }

  /**
   * Filtered by action: starts of runs must not hide refusals. Read in pages, whatever their
   * number.
   */
  async #targetsSince(action: string, at: number): Promise<ReadonlySet<string>> {
    const targets = new Set<string>()
    const limit = 1_000
    for (let from = at; ;) {
      const page = await this.#tables.list(actions, { where: { action }, by: 'at', from, limit })
      for (const { target } of page) targets.add(target)
      if (page.length < limit) return targets
      // Lines of the last millisecond may continue on the next page.
      const last = page.at(-1)!.at
      from = last > from ? last : from + 1
    }
  }

  async #byName(name: string): Promise<Stored<UserRecord> | undefined> {
    const [found] = await this.#tables.list(users, {
      where: { name: name.toLowerCase() },
      by: 'name',
      limit: 1,
    })
    return found
  }

  async #hash(password: string): Promise<string> {
    if (password.length >= 10 && password.length <= 1_000) return this.#passwords.hash(password)
    const problem = 'expected a password of 10 to 1,000 characters.'
    throw new HeddleError('HDL_BAD_INPUT', { what: 'password', problem })
  }

  /** U1: one lookup a second for each caller, shared by its requests. */
  #remember<T>(known: Map<string, Known<T>>, key: string, look: () => Promise<T>): Promise<T> {
    const now = this.#kernel.clock.now()
    const found = known.get(key)
    if (found !== undefined && now - found.at < lookEvery) return found.value
    const value = look()
    known.delete(key)
    known.set(key, { at: now, value })
    value.catch(() => known.delete(key))
    if (known.size > mostKnown) known.delete(known.keys().next().value!)
    return value
  }
}

/** @throws `HDL_BAD_INPUT`. */
function readName(name: string): string {
  if (/^[\p{L}\p{N}][\p{L}\p{N}._@+-]{0,63}$/u.test(name)) return name.toLowerCase()
  const problem = 'expected 1 to 64 letters, digits and . _ @ + -'
  throw new HeddleError('HDL_BAD_INPUT', { what: 'name', problem })
}

function callerOfUser({ id, name, tenant, role }: UserRecord): Caller {
  const roles = roleOrder.slice(0, roleOrder.indexOf(role) + 1)
  return { kind: 'user', id, name, tenant, roles, scopes: [] }
}

/** With its hash as well: a wrong secret must not find the caller of a right one. */
function tokenKey(id: string, hash: string): string {
  return `${id} ${hash}`
}
