/** The caller of a request. Every request has one; its roles and scopes decide its rights. */
import type { FastifyRequest } from 'fastify'
import { HeddleError } from '@heddle/core'
import type { Access, Contract } from '../client/contract/contract.ts'

export type Role = 'viewer' | 'operator' | 'admin'

export interface Caller {
  readonly kind: 'anonymous' | 'user' | 'token' | 'server'
  readonly id: string
  readonly name: string
  /** Slots, request ids and handles belong to it. */
  readonly tenant: string
  readonly roles: readonly Role[]
  /** For a token: `submit`, `worker`, … */
  readonly scopes: readonly string[]
  /** For a token: the name of the user who made it. */
  readonly by?: string
}

/** The tenant of callers that have none of their own. */
export const commonTenant = 'default'

/** Everyone, on a server without users: allowed to do everything. */
export const anonymous: Caller = {
  kind: 'anonymous',
  id: 'anonymous',
  name: 'anonymous',
  tenant: commonTenant,
  roles: ['viewer', 'operator', 'admin'],
  scopes: ['submit', 'worker'],
}

/** Identifies the caller, and decides what it may do. The room of people has one. */
export interface AccessPolicy {
  /**
   * Asked when the head of a request was read, before its body. A public route has a caller too.
   *
   * *Cancellation*: none: it waits for the store of users only.
   * @throws `HDL_UNAUTHENTICATED` when the credentials of the request are not valid.
   */
  callerOf(request: FastifyRequest, contract: Contract): Caller | Promise<Caller>
  /** @throws `HDL_UNAUTHENTICATED`, `HDL_FORBIDDEN`. */
  check(caller: Caller, contract: Contract, request: FastifyRequest): void
  /**
   * Those whose callers have lost the right that they had when they began. Asked about once a second, also when none takes long;
   * absent: no caller loses its right.
   *
   * *Cancellation*: none: it waits for the store of users only.
   */
  refused?(calls: readonly BegunCall[]): Promise<readonly BegunCall[]>
}

/** A request that takes long. */
export interface BegunCall {
  readonly caller: Caller
  readonly contract: Contract
  readonly request: FastifyRequest
}

/** @throws `HDL_UNAUTHENTICATED` for a caller without any right, `HDL_FORBIDDEN` for one with others. */
export function checkAccess(caller: Caller, { access, method, path }: Contract): void {
  if (isAllowed(caller, access)) return
  const what = `${method} ${path}`
  if (caller.kind === 'anonymous') throw new HeddleError('HDL_UNAUTHENTICATED', { what })
  throw new HeddleError('HDL_FORBIDDEN', { what, needs: access })
}

/** Each role has the rights of those before it; an operator may submit, an admin may do everything. */
export function isAllowed({ roles, scopes }: Caller, access: Access): boolean {
  const has = (role: Role): boolean => roles.includes(role)
  switch (access) {
    case 'public':
      return true
    case 'viewer':
      return roles.length > 0 || scopes.includes('read')
    case 'operator':
      return has('operator') || has('admin') || scopes.includes('operate')
    case 'admin':
      return has('admin')
    case 'submit':
      return has('operator') || has('admin') || scopes.includes('submit')
    case 'worker':
      return has('admin') || scopes.includes('worker')
  }
}
