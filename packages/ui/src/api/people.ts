/** Users, sessions, tokens and the log of actions, as views ask for them. */
import type { Action, CallOptions, Token, User } from '@heddle/server/client'
import { call } from './client.ts'
import type { Role } from './session.ts'

export type { Action, Token, User }

export async function listUsers(signal: AbortSignal): Promise<readonly User[]> {
  return (await call('GET /users', { signal })).users
}

/** `link`: sets the password once, when none was given. */
export function addUser(
  body: NonNullable<CallOptions<'POST /users'>['body']>,
): Promise<{ readonly user: User; readonly link: string | null }> {
  return call('POST /users', { body })
}

export function changeUser(
  name: string,
  body: { readonly role?: Role; readonly state?: 'active' | 'blocked' },
): Promise<User> {
  return call('PATCH /users/:name', { params: { name }, body })
}

export function makeLink(name: string): Promise<{ readonly link: string }> {
  return call('POST /users/:name/link', { params: { name } })
}

export interface OpenSession {
  readonly id: string
  readonly created_at: number
  readonly expires_at: number
  readonly address: string
}

export async function listSessions(
  name: string,
  signal: AbortSignal,
): Promise<readonly OpenSession[]> {
  return (await call('GET /users/:name/sessions', { params: { name }, signal })).sessions
}

export function revokeSessions(name: string): Promise<{ readonly revoked: number }> {
  return call('DELETE /users/:name/sessions', { params: { name } })
}

export async function listTokens(signal: AbortSignal): Promise<readonly Token[]> {
  return (await call('GET /tokens', { signal })).tokens
}

export function addToken(
  body: NonNullable<CallOptions<'POST /tokens'>['body']>,
): Promise<{ readonly token: string; readonly record: Token }> {
  return call('POST /tokens', { body })
}

export function revokeToken(id: string): Promise<Token> {
  return call('DELETE /tokens/:id', { params: { id } })
}

export interface ActionQuery {
  readonly by?: string
  readonly action?: string
  readonly target?: string
  readonly before?: number
  readonly limit?: number
}

export function searchActions(
  query: ActionQuery,
  signal?: AbortSignal,
): Promise<{ readonly actions: readonly Action[]; readonly next: number | null }> {
  return call('GET /actions', { query: { ...query }, ...(signal && { signal }) })
}
