/** Jobs of Heddle: the word in their options says where they run. */
import type { Tag } from '../models/model.ts'
import type { CallSite } from '../ir/program.ts'

export type JobPlace = 'loop' | 'thread' | 'fleet'

/** `job({ place: 'thread' }, …)` of `@heddle/core`; undefined when the call defines no job. */
export function jobPlace(site: CallSite): JobPlace | undefined {
  if (!definesJob(site)) return undefined
  const place = option(site, 'place')
  return place === 'thread' || place === 'fleet' ? place : 'loop'
}

const definedIn = '@heddle/core'

function definesJob({ name, external, callee }: CallSite): boolean {
  if (name !== 'job') return false
  if (external !== undefined) return external.module === definedIn
  // In a workspace that has the package itself it is a function of the program.
  const imported = callee.kind === 'name' ? callee.scope.find(callee.name)?.import : undefined
  return imported?.source === definedIn && imported.name === name
}

export function jobName(site: CallSite): string | undefined {
  return option(site, 'name')
}

/** A text that is written in the options. */
function option({ owner, start, end }: CallSite, name: string): string | undefined {
  const text = owner.file.parsed.text.slice(start, Math.min(end, start + 600))
  return new RegExp(`[{,\\s]${name}:\\s*['"\`]([^'"\`]*)['"\`]`).exec(text)?.[1]
}

export const placeTags: Readonly<Record<JobPlace, Tag>> = {
  loop: 'LOOP',
  thread: 'THREAD',
  fleet: 'REMOTE',
}
