/** The log of actions, used by every room that changes something: the actor, the action, the address. */
import type { Call } from '../http/route.ts'
import type { People } from './people.ts'
import type { PeoplePolicy } from './policy.ts'

/**
 * Writes one line, when the action has succeeded. `detail` has no secrets: names and states, never values that a client sent.
 *
 * *Cancellation*: none: it waits for the store.
 */
export type Audit = (
  call: Pick<Call, 'caller' | 'request'>,
  action: string,
  target: string,
  detail?: string,
) => Promise<void>

export function auditTo(people: People, policy: Pick<PeoplePolicy, 'originOf'>): Audit {
  return async ({ caller, request }, action, target, detail) => {
    const { address } = policy.originOf(request)
    const { name: by, tenant } = caller
    await people.audit({ by, action, target, address, detail, tenant })
  }
}
