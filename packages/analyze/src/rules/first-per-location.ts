import type { Access } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { Draft } from './draft.ts'
import type { Host, Located } from './host.ts'
import type { Model } from './model.ts'
import { isShared } from './shared.ts'

/** The question that a rule asks at an access where something may begin. */
export interface Beginning {
  readonly isAsked: (host: Host) => boolean
  readonly begins: (access: Access) => boolean
  readonly draft: (host: Host, location: Location, begin: Located) => Draft | undefined
}

/**
 * Asks in every host that suspends, for every location inside of the program that tasks share. One
 * finding for a location is enough: the others would say the same again.
 */
export function firstPerLocation(model: Model, { isAsked, begins, draft }: Beginning): Draft[] {
  const drafts: Draft[] = []
  for (const host of model.hosts.suspending) {
    if (!isAsked(host)) continue
    for (const [location, accesses] of host.written) {
      const { scope } = location
      if (!isShared(location, host.unit) || scope === 'parameter' || scope === 'external') continue
      for (const begin of accesses) {
        if (!begins(begin.access)) continue
        const made = draft(host, location, begin)
        if (made === undefined) continue
        drafts.push(made)
        break
      }
    }
  }
  return drafts
}
