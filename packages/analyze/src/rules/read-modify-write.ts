/**
 * H501 read-modify-write over a suspension: `x += await y`, or a snapshot that is taken, changed and
 * written back. Writes of other calls in between are lost.
 */
import type { Access } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import { isStore } from '../summaries/effects.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { mutex, readLate, transaction } from './fixes.ts'
import type { Host, Located } from './host.ts'
import { hasStrongReach, overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { perLocation } from './per-location.ts'
import { inSameRegion, isIdentityCheck, overSuspension } from './event-walk.ts'
import { isComponentState } from './shared.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function readModifyWrite(model: Model): Draft[] {
  return perLocation(
    model,
    (host) => host.groups.filter((group) => group.isWritten || isFirstOfList(group.location)),
    (group, host) =>
      (group.location.scope !== 'parameter' || isComponentState(group.location)) &&
      group.isSharedIn(host.unit),
    (host, location, accesses) =>
      inHost(model, host, location, accesses) ?? peeked(model, host, location, accesses),
  )
}

function inHost(
  model: Model,
  host: Host,
  location: Location,
  accesses: readonly Located[],
): Draft | undefined {
  for (const write of accesses) {
    const { access } = write
    if (access.op !== 'write' || !isStore(access) || access.kind === 'append' || access.isInitial)
      continue
    for (const old of access.value?.reads ?? []) {
      if (old.location.canonical !== location) continue
      // A value that was found absent and then replaced belongs to H101: the new value contains nothing of the old one.
      if (old.checks.length > 0 && location.scope !== 'external' && !isMadeOf(access, old)) continue
      const read = accesses.find((one) => one.access === old)
      if (read === undefined) continue
      const way = overSuspension(
        host.graph,
        read,
        (event) => event === access,
        (event, isAfter) =>
          (isAfter && isIdentityCheck(event)) ||
          event === old ||
          (event.op === 'read' &&
            event.location.canonical === location &&
            event.checks.length > 0 &&
            isAfter),
      )
      if (way === undefined || isRestored(access, accesses)) continue
      if (isMerged(host, location, access, accesses)) continue
      const end = { block: way.block, event: access }
      if (model.guardOver(host.unit, way.suspensions[0], read, end) !== undefined) continue
      return describe(host, location, old, access, way.suspensions)
    }
  }
  return undefined
}

/** `const before = x; x = own; …; x = before`: the saved value is put back. */
function isRestored(write: Access, accesses: readonly Located[]): boolean {
  return (
    write.value?.location?.canonical === write.location.canonical &&
    accesses.some(
      ({ access }) =>
        access.op === 'write' &&
        access !== write &&
        !access.isInitial &&
        access.owner.host === write.owner.host,
    )
  )
}

/** `list = saved.concat(list)`: entries that were added in between are read together with the write, and kept. */
function isMerged(
  host: Host,
  location: Location,
  write: Access,
  accesses: readonly Located[],
): boolean {
  const reads = write.value?.reads ?? []
  return accesses.some(
    (one) =>
      one.access.op === 'read' &&
      reads.includes(one.access) &&
      one.access.location.canonical === location &&
      inSameRegion(host.graph, one, (event) => event === write) !== undefined,
  )
}

/** The old value goes into the new one: it is computed from it or copied with changes. */
function isMadeOf({ value, owner, end }: Access, old: Access): boolean {
  if (value === undefined || value.location !== undefined || value.literal !== undefined)
    return false
  if ((value.calls?.length ?? 0) > 0) return false
  const { text } = owner.file.parsed
  const right = text.slice(end, end + 200).split(/[;\n]/, 1)[0] ?? ''
  return (
    old.checks.every(({ whenPresent }) => whenPresent !== undefined) &&
    (/\.\.\./.test(right) || /[-+*]/.test(right))
  )
}

/** The first of a list is read, worked on, and then removed as if it were still the first. */
function peeked(
  model: Model,
  host: Host,
  location: Location,
  accesses: readonly Located[],
): Draft | undefined {
  if (!isFirstOfList(location)) return undefined
  const list = location.parent.canonical
  if (isDrainedByOne(host, list)) return undefined
  for (const read of accesses) {
    if (read.access.op !== 'read') continue
    const way = overSuspension(
      host.graph,
      read,
      (event) => event.op === 'write' && event.location.canonical === list && event.kind === 'drop',
      (event, isAfter) => isAfter && (isIdentityCheck(event) || event === read.access),
    )
    const write = way?.event as Access | undefined
    if (way === undefined || write === undefined) continue
    const end = { block: way.block, event: write }
    if (model.guardOver(host.unit, way.suspensions[0], read, end) !== undefined) continue
    return describe(host, list, read.access, write, way.suspensions)
  }
  return undefined
}

function isFirstOfList(location: Location): location is Location & { readonly parent: Location } {
  return location.field === '0' && location.parent !== undefined
}

/** `list.push(x); if (list.length > 1) return`: the call that finds it empty drains it for all. */
function isDrainedByOne(host: Host, list: Location): boolean {
  const accesses = host.accessesOf(list)
  return accesses.some(
    (one) =>
      one.access.kind === 'append' &&
      inSameRegion(
        host.graph,
        one,
        (event) =>
          event.op === 'read' &&
          event.location.canonical === list &&
          event.checks.some((check) => !check.branch.isLoop),
      ) !== undefined,
  )
}

/** A generator that its one reader resumes: nothing else runs it meanwhile. */
function isPulled({ unit }: Host, suspensions: Draft['suspensions']): boolean {
  return unit.isGenerator && suspensions.every(({ kind }) => kind === 'yield')
}

function describe(
  host: Host,
  location: Location,
  read: Access,
  write: Access,
  suspensions: Draft['suspensions'],
): Draft {
  const overlap = overlapOf(host.unit)
  const name = location.name
  const isExternal = location.scope === 'external'
  return {
    rule: 'H501',
    class: 'atomicity-gap',
    level:
      overlap === undefined ||
      isExternal ||
      isPulled(host, suspensions) ||
      write.value?.location?.canonical === location
        ? 'note'
        : hasStrongReach(host.unit)
          ? 'error'
          : 'warning',
    message: `${host.unit.namedAs} reads ${name}, waits, and writes back the result: what other calls wrote in between is lost`,
    locations: [location],
    check: read,
    act: write,
    suspensions,
    conflict: write,
    steps: [
      { task: 'A', text: `reads ${name}: \`${textOf(read)}\``, at: read },
      {
        task: 'A',
        text: 'waits, with the old value in hand',
        at: suspensions[0]!,
        isCheckpoint: true,
      },
      { task: 'B', text: `reads the same old value`, at: read },
      { task: 'A', text: `writes: \`${textOf(write)}\``, at: write },
      { task: 'B', text: `writes a result of the old value: A's change is lost`, at: write },
    ],
    window: [1, 4],
    evidence: [
      overlap === undefined
        ? 'it runs at start-up only'
        : `may overlap with itself: ${overlap.text}`,
      'no guard is held from the read to the write',
    ],
    fixes: [
      readLate(name, [1, 4]),
      mutex(name, [1, 5]),
      ...(isExternal ? [transaction([1, 5])] : []),
    ],
  }
}

export const readModifyWritePage: RulePage = {
  id: 'H501',
  name: 'read-modify-write',
  class: 'atomicity-gap',
  level: 'error',
  summary: 'A value is read, and a result computed from it is written back after a suspension.',
  what: `A shared location is read before a suspension and written after it with a value that was computed
from the old one. x += await y() is one: the left side is read first.`,
  why: `What other calls wrote in between is overwritten. Counters count too little, lists lose entries.`,
  race: source`
    let total = 0

    export async function add(item: string): Promise<number> {
      total += await priceOf(item)
      return total
    }
  `,
  steps: [
    ['A', 'reads total: 0'],
    ['A', 'await priceOf(): suspended'],
    ['B', 'reads total: 0'],
    ['A', 'writes 0 + 5'],
    ['B', 'writes 0 + 7: the 5 is lost'],
  ],
  window: [2, 5],
  fixed: source`
    let total = 0

    export async function add(item: string): Promise<number> {
      const price = await priceOf(item)
      total += price
      return total
    }
  `,
  fixes: [
    'Await first, then read and write in one region.',
    'Hold a mutex over the whole.',
    'Keep the added parts, and compute the sum when it is needed.',
  ],
}
