/** Code shared by the rules about one location in one function. */
import type { Access } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { Draft } from './draft.ts'
import type { Group } from './group.ts'
import type { Host, Located } from './host.ts'
import type { Model } from './program-model.ts'
import { isComponentState } from './shared.ts'

/** Visits every host that suspends and writes, for every location in it that may qualify. */
export function perLocation(
  model: Model,
  groupsOf: (host: Host) => readonly Group[],
  isAsked: (group: Group, host: Host) => boolean,
  draft: (host: Host, location: Location, accesses: readonly Located[]) => Draft | undefined,
): Draft[] {
  const drafts: Draft[] = []
  for (const host of model.hosts.suspending) {
    if (!host.isWriting) continue
    for (const group of groupsOf(host)) {
      if (!isAsked(group, host) || model.isStepOf(group.location, host.unit)) continue
      const made = draft(host, group.location, group.accessesOfMany(host.unit))
      if (made !== undefined) drafts.push(made)
    }
  }
  return drafts
}

/** The question that a rule asks at an access where something may begin. */
export interface Beginning {
  readonly isAsked: (host: Host) => boolean
  readonly begins: (access: Access) => boolean
  readonly draft: (host: Host, location: Location, begin: Located) => Draft | undefined
}

/**
 * Asks for every location inside of the program that tasks share. One finding for a location is enough:
 * the others would say the same again.
 */
export function firstPerLocation(model: Model, { isAsked, begins, draft }: Beginning): Draft[] {
  return perLocation(
    model,
    (host) => host.written,
    (group, host) =>
      isAsked(host) &&
      (group.location.scope !== 'parameter' || isComponentState(group.location)) &&
      group.location.scope !== 'external' &&
      group.isSharedIn(host.unit),
    (host, location, accesses) => {
      for (const begin of accesses) {
        const made = begins(begin.access) ? draft(host, location, begin) : undefined
        if (made !== undefined) return made
      }
      return undefined
    },
  )
}
