/** The server that sent this page. Everything the dashboard asks goes through here. */
import {
  connect,
  type CallOptions,
  type EventOptions,
  type Reply,
  type ReplyBody,
  type Route,
  type ServerEvent,
  type SessionInfo,
} from '@heddle/server/client'
import { setServerTime } from '../kernel/clock.ts'
import { isLocked, session, sessionHeaders, setSession } from './session.ts'

/** The folder above the page: `https://tools.example/heddle/ui/` talks to `https://tools.example/heddle`. */
export const serverUrl: string = new URL('..', document.baseURI).href.replace(/\/$/, '')

const client = connect({ url: serverUrl, headers: sessionHeaders })

/** Left out where a route needs nothing. */
type Given<R extends Route> =
  object extends CallOptions<R> ? [options?: CallOptions<R>] : [options: CallOptions<R>]

/** Calls a route by its name in the table, which gives the types of its arguments and answers. */
export async function call<R extends Route>(route: R, ...options: Given<R>): Promise<ReplyBody<R>> {
  return (await callWithHead(route, ...options)).body
}

/** Like {@link call}, with the status and the headers of the answer. */
export async function callWithHead<R extends Route>(
  route: R,
  ...options: Given<R>
): Promise<Reply<ReplyBody<R>>> {
  try {
    return await client.call(route, ...options)
  } catch (error) {
    checkSession(error)
    throw error
  }
}

/** Events of a stream, from after the last known one; the client connects again by itself. */
export async function* events<R extends Route>(
  route: R,
  options: CallOptions<R> & EventOptions,
): AsyncGenerator<ServerEvent, void, undefined> {
  try {
    yield* client.events(route, options)
  } catch (error) {
    checkSession(error)
    throw error
  }
}

/** The address of a route for links and downloads. */
export function hrefOf(path: string): string {
  return `${serverUrl}${path}`
}

/** Asks for the session of this tab. */
export async function loadSession(): Promise<void> {
  try {
    const { body, headers } = await client.call('GET /session')
    setServerTime(headers.get('date'))
    setSession(body)
  } catch {
    // The view that asks for something reports it.
    if (session.peek() === undefined) setSession(undefined)
  }
}

/** The session has ended, or was revoked (E2). */
function checkSession(error: unknown): void {
  const { status } = (error ?? {}) as { readonly status?: number }
  if (status === 401 && !isLocked.peek()) void loadSession()
}

export async function logIn(name: string, password: string, remember: boolean): Promise<void> {
  const { body } = await client.call('POST /login', { body: { name, password, remember } })
  setSession(body)
}

export async function logOut(): Promise<void> {
  const { body } = await client.call('POST /logout')
  setSession(body satisfies SessionInfo)
}

/** Changes the own password, which ends all other sessions. */
export async function changePassword(old: string, next: string): Promise<void> {
  const { body } = await client.call('POST /password', { body: { old, new: next } })
  setSession(body)
}

/** Sets a password by a link that works once, and logs in. */
export async function enterByLink(secret: string, password: string): Promise<void> {
  const { body } = await client.call('POST /links/:secret', {
    params: { secret },
    body: { password },
  })
  setSession(body)
}
