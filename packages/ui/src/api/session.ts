/**
 * The user of this tab, and their rights.
 *
 *     unknown ── GET /session ──▶ open (a server without users: every user may do everything)
 *                             ├─▶ locked ── log in, or a link ──▶ entered ── log out, 401 ──▶ locked
 *                             └─▶ entered
 *
 * Invariants, quoted by the tests:
 *  E1  Every request that changes something carries the CSRF token of the session.
 *  E2  An answer of 401 asks for the session once more: the view gives way to the login, and comes back after it.
 *  E3  What the roles of the session do not allow is not offered.
 */
import { computed, signal, type ReadonlySignal } from '@preact/signals'
import type { SessionInfo } from '@heddle/server/client'

export type Role = 'viewer' | 'operator' | 'admin'

const current = signal<SessionInfo | undefined>(undefined)

export const session: ReadonlySignal<SessionInfo | undefined> = current

/** Whether a login is needed before anything can be shown. */
export const isLocked: ReadonlySignal<boolean> = computed(() => {
  const now = current.value
  return now !== undefined && !now.is_open && now.user === null && now.roles.length === 0
})

/** A server that cannot be asked, or is older than users, is taken to be open (E3 then is the server's own). */
const openSession: SessionInfo = {
  is_open: true,
  user: null,
  roles: ['viewer', 'operator', 'admin'],
  csrf: null,
  expires_at: null,
}

export function setSession(next: SessionInfo | undefined): void {
  current.value = next ?? openSession
}

export function may(role: Role): boolean {
  return current.value?.roles.includes(role) ?? false
}

/** Characters of the shortest password that a form sends; the server has the last word. */
export const shortestPassword = 8

/** Headers of every request (E1). */
export function sessionHeaders(): Readonly<Record<string, string>> {
  const csrf = current.peek()?.csrf
  return csrf === null || csrf === undefined ? {} : { 'x-csrf-token': csrf }
}
