/**
 * Tenants: the one place that decides whether a caller may know of a thing, and under which name a tenant's things are
 * kept.
 *
 *  N1  A thing of another tenant is answered exactly as one that does not exist: the same status, code and text, after
 *      the same look at the store.
 *  N2  A route whose path names a thing declares how the tenant of that thing is checked. A route without that
 *      declaration cannot be made.
 *  N3  Names that callers choose (keys of runs, debounce keys, names of schedules) are names of their tenant: two
 *      tenants may choose the same one.
 *
 * An admin sees and changes what belongs to any tenant.
 */
import { HeddleError } from '@heddle/core'
import type { Contract } from '../client/contract/contract.ts'
import { commonTenant, type Caller } from './caller.ts'
import type { Call } from './route.ts'

/** How the tenant of the thing in a route's path is checked (N2). */
export type Tenancy<C extends Contract> =
  /** Called before the handler. Throws the error of a thing that does not exist. */
  | ((call: Call<C>) => Promise<void> | undefined)
  /** The handler: it finds things by the caller, or by its tenant. */
  | 'handler'
  /** The same thing for every tenant (a job, a file of the dashboard), or a secret that is itself the right. */
  | 'everyone'

/** Undefined for all. */
export function tenantsOf({ tenant, roles }: Caller): string | undefined {
  return roles.includes('admin') ? undefined : tenant
}

/** @param owner The tenant that a thing belongs to: the common one when absent. */
export function maySee(caller: Caller, owner: string = commonTenant): boolean {
  const tenant = tenantsOf(caller)
  return tenant === undefined || tenant === owner
}

/**
 * Figures of the whole server have those of all tenants in them: a caller that is bound to one of them does not get them.
 *
 * @throws `HDL_FORBIDDEN`.
 */
export function checkTotals(caller: Caller, what: string): void {
  if (maySee(caller)) return
  throw new HeddleError('HDL_FORBIDDEN', { what, needs: 'admin' })
}

/** N2. @throws `HDL_BAD_OPTION`. */
export function checkTenancy({ method, path, access }: Contract, tenancy: unknown): void {
  // Admins see all tenants.
  if (tenancy !== undefined || access === 'admin' || !path.includes(':')) return
  const value = `${method} ${path}`
  const expected = 'how the tenant of the resource in the path is checked'
  throw new HeddleError('HDL_BAD_OPTION', { option: 'tenancy', value, expected })
}

const mark = '@'

/**
 * The name under which something of a tenant is kept (N3). Names of the common tenant stay as they are, unless they look like one of
 * another tenant.
 */
export function nameIn(tenant: string = commonTenant, name: string): string {
  if (tenant === commonTenant && !name.startsWith(mark)) return name
  const owner = tenant.replaceAll('%', '%25').replaceAll(':', '%3A')
  return `${mark}${owner}:${name}`
}

/** The name that the caller chose: undoes nameIn(). */
export function chosenName(kept: string): string {
  return kept.startsWith(mark) ? kept.slice(kept.indexOf(':') + 1) : kept
}
