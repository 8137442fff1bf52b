/** Users, sessions, tokens and the log of changes, with their authors. */
import { Type, type Static, type TSchema } from 'typebox'
import { closed, contract } from './contract.ts'

const orNull = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])
const name = Type.String({ minLength: 1, maxLength: 64 })
const password = Type.String({ minLength: 1, maxLength: 1_000 })

const RoleSchema = Type.Enum(['viewer', 'operator', 'admin'])
const ScopeSchema = Type.Enum(['read', 'operate', 'submit', 'worker'])

export const UserSchema = Type.Object({
  name: Type.String(),
  role: RoleSchema,
  state: Type.Enum(['active', 'pending', 'blocked']),
  tenant: Type.String(),
  created_at: Type.Number(),
})
export type User = Static<typeof UserSchema>

/** GET /session. Without users and tokens `is_open` is true, and every caller on this machine may do everything. */
export const SessionSchema = Type.Object({
  is_open: Type.Boolean(),
  /** Null when no one is logged in. */
  user: orNull(Type.Object({ name: Type.String(), role: RoleSchema })),
  /** The rights of the caller. */
  roles: Type.Array(RoleSchema),
  /** For the header `X-CSRF-Token` of every request that changes something. */
  csrf: orNull(Type.String()),
  expires_at: orNull(Type.Number()),
})
export type SessionInfo = Static<typeof SessionSchema>

export const getSession = contract({
  method: 'GET',
  path: '/session',
  summary: 'The user who is logged in, and the rights of the caller',
  access: 'public',
  body: 'none',
  responses: { 200: SessionSchema },
})
export const login = contract({
  method: 'POST',
  path: '/login',
  summary: 'Log in with a name and a password; sets a cookie',
  access: 'public',
  body: 'json',
  bodySchema: Type.Object({ name, password, remember: Type.Optional(Type.Boolean()) }, closed),
  responses: { 200: SessionSchema },
})
export const logout = contract({
  method: 'POST',
  path: '/logout',
  summary: 'End the session',
  access: 'public',
  body: 'json',
  responses: { 200: SessionSchema },
})
export const useLink = contract({
  method: 'POST',
  path: '/links/:secret',
  summary: 'Set a password by a link that works once; logs in',
  access: 'public',
  body: 'json',
  params: Type.Object({ secret: Type.String({ minLength: 1, maxLength: 128 }) }),
  bodySchema: Type.Object({ password }, closed),
  responses: { 200: SessionSchema },
})
export const changePassword = contract({
  method: 'POST',
  path: '/password',
  summary: 'Change the own password; ends all other sessions',
  access: 'viewer',
  body: 'json',
  bodySchema: Type.Object({ old: password, new: password }, closed),
  responses: { 200: SessionSchema },
})

export const listUsers = contract({
  method: 'GET',
  path: '/users',
  summary: 'All users',
  access: 'admin',
  body: 'none',
  responses: { 200: Type.Object({ users: Type.Array(UserSchema) }) },
})
export const addUser = contract({
  method: 'POST',
  path: '/users',
  summary: 'Add a user; without a password the answer has a link that sets one',
  access: 'admin',
  body: 'json',
  bodySchema: Type.Object(
    {
      name,
      role: RoleSchema,
      password: Type.Optional(password),
      tenant: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
    },
    closed,
  ),
  responses: {
    201: Type.Object({
      user: UserSchema,
      /** Path of a link that works once, for 15 minutes. */
      link: orNull(Type.String()),
    }),
  },
})
const UserParams = Type.Object({ name })
export const changeUser = contract({
  method: 'PATCH',
  path: '/users/:name',
  summary: 'Change the role of a user, or block and unblock one',
  access: 'admin',
  body: 'json',
  params: UserParams,
  bodySchema: Type.Object(
    {
      role: Type.Optional(RoleSchema),
      state: Type.Optional(Type.Enum(['active', 'blocked'])),
    },
    closed,
  ),
  responses: { 200: UserSchema },
})
export const linkUser = contract({
  method: 'POST',
  path: '/users/:name/link',
  summary: 'Make a link that sets the password of a user once',
  access: 'admin',
  body: 'json',
  params: UserParams,
  responses: { 201: Type.Object({ link: Type.String(), expires_at: Type.Number() }) },
})
export const listSessions = contract({
  method: 'GET',
  path: '/users/:name/sessions',
  summary: 'Open sessions of a user',
  access: 'admin',
  body: 'none',
  params: UserParams,
  responses: {
    200: Type.Object({
      sessions: Type.Array(
        Type.Object({
          id: Type.String(),
          created_at: Type.Number(),
          expires_at: Type.Number(),
          address: Type.String(),
        }),
      ),
    }),
  },
})
export const revokeSessions = contract({
  method: 'DELETE',
  path: '/users/:name/sessions',
  summary: 'End all sessions of a user',
  access: 'admin',
  body: 'none',
  params: UserParams,
  responses: { 200: Type.Object({ revoked: Type.Integer() }) },
})

export const TokenSchema = Type.Object({
  id: Type.String(),
  name: Type.String(),
  scopes: Type.Array(Type.String()),
  tenant: Type.String(),
  created_by: Type.String(),
  created_at: Type.Number(),
  expires_at: orNull(Type.Number()),
  revoked_at: orNull(Type.Number()),
})
export type Token = Static<typeof TokenSchema>

export const listTokens = contract({
  method: 'GET',
  path: '/tokens',
  summary: 'All tokens, without their secrets',
  access: 'admin',
  body: 'none',
  responses: { 200: Type.Object({ tokens: Type.Array(TokenSchema) }) },
})
export const addToken = contract({
  method: 'POST',
  path: '/tokens',
  summary: 'Make a token; it is shown once',
  access: 'admin',
  body: 'json',
  bodySchema: Type.Object(
    {
      name,
      scopes: Type.Array(ScopeSchema, { minItems: 1, maxItems: 4 }),
      tenant: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
      expires_in_ms: Type.Optional(Type.Integer({ minimum: 1_000 })),
    },
    closed,
  ),
  responses: { 201: Type.Object({ token: Type.String(), record: TokenSchema }) },
})
export const revokeToken = contract({
  method: 'DELETE',
  path: '/tokens/:id',
  summary: 'Revoke a token, by id or name',
  access: 'admin',
  body: 'none',
  params: Type.Object({ id: name }),
  responses: { 200: TokenSchema },
})

export const ActionSchema = Type.Object({
  id: Type.String(),
  at: Type.Number(),
  by: Type.String(),
  action: Type.String(),
  target: Type.String(),
  address: Type.String(),
  detail: orNull(Type.String()),
})
export type Action = Static<typeof ActionSchema>

export const listActions = contract({
  method: 'GET',
  path: '/actions',
  summary: 'Who changed what, newest first',
  access: 'operator',
  body: 'none',
  query: Type.Object({
    by: Type.Optional(Type.String({ maxLength: 64 })),
    action: Type.Optional(Type.String({ maxLength: 64 })),
    target: Type.Optional(Type.String({ maxLength: 256 })),
    before: Type.Optional(Type.Number({ minimum: 0 })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500 })),
  }),
  responses: {
    200: Type.Object({
      actions: Type.Array(ActionSchema),
      /** `before` of the next page; null at the end. */
      next: orNull(Type.Number()),
    }),
  },
})

export const getRateLimit = contract({
  method: 'GET',
  path: '/rate_limit',
  summary: 'How many requests the caller has left',
  access: 'public',
  body: 'none',
  responses: {
    200: Type.Object({
      limit: Type.Integer(),
      remaining: Type.Integer(),
      reset_ms: Type.Integer(),
    }),
  },
})

export const peopleContracts = [
  getSession,
  login,
  logout,
  useLink,
  changePassword,
  listUsers,
  addUser,
  changeUser,
  linkUser,
  listSessions,
  revokeSessions,
  listTokens,
  addToken,
  revokeToken,
  listActions,
  getRateLimit,
] as const
