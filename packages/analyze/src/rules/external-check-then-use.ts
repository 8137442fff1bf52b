/**
 * H103 external check-then-use: a file, row or entry of a store is looked up, and then created or
 * changed as if the answer still held. No lock of this process helps: others have the same store.
 */
import type { Access, Event } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { exclusiveCreate, mutex, transaction } from './fixes.ts'
import type { Host, Located } from './host.ts'
import { hasStrongReach, overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { perLocation } from './per-location.ts'
import { overSuspension } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function externalCheckThenUse(model: Model): Draft[] {
  return perLocation(
    model,
    (host) => host.written,
    ({ location }) => location.scope === 'external',
    (host, location, accesses) => inHost(model, host, location, accesses),
  )
}

function inHost(
  model: Model,
  host: Host,
  location: Location,
  accesses: readonly Located[],
): Draft | undefined {
  for (const read of accesses) {
    if (read.access.op !== 'read' || !isLookUp(read, location)) continue
    const isWrite = (event: Event): boolean =>
      event.op === 'write' &&
      event.location.canonical === location &&
      event.kind !== 'drop' &&
      event.value?.reads?.includes(read.access) !== true
    const way = overSuspension(host.graph, read, isWrite)
    const write = way?.event as Access | undefined
    if (way === undefined || write === undefined) continue
    const end = { block: way.block, event: write }
    if (model.guardOver(host.unit, way.suspensions[0], read, end) !== undefined) continue
    if (handlesConflict(host, write)) continue
    return describe(host, location, read.access, write, way.suspensions)
  }
  return undefined
}

/** Deciding on it, or asking in a way whose answer is an exception. */
function isLookUp(read: Located, location: Location): boolean {
  if (read.access.checks.length > 0) return true
  return location.field === 'file' && read.block.next.some((block) => block.cleanup === 1)
}

/** Catching the error of the write and looking at its code is how a conflict is handled. */
function handlesConflict(host: Host, write: Access): boolean {
  const { text } = host.unit.file.parsed
  const around = text.slice(write.start, Math.min(host.unit.end, write.end + 400))
  return /EEXIST|ENOENT|11000|23505|P2002|UniqueConstraint|duplicate|conflict/i.test(around)
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
  return {
    rule: 'H103',
    class: 'toctou',
    level: hasStrongReach(host.unit) && location.field !== 'store' ? 'warning' : 'note',
    message: `${host.unit.namedAs} looks up ${name} and then writes it: another process or call can do the same between the two`,
    locations: [location],
    check: read,
    act: write,
    suspensions,
    conflict: write,
    steps: [
      { task: 'A', text: `looks: \`${textOf(read)}\`: not there`, at: read },
      { task: 'A', text: 'waits for the answer', at: suspensions[0] ?? read, isCheckpoint: true },
      { task: 'B', text: `looks as well: \`${textOf(read)}\`: not there`, at: read },
      { task: 'B', text: `writes: \`${textOf(write)}\``, at: write },
      { task: 'A', text: `writes over it: \`${textOf(write)}\``, at: write },
    ],
    window: [0, 4],
    evidence: [
      `${name} is outside of this process`,
      overlap === undefined
        ? 'another process may run the same code'
        : `may overlap with itself: ${overlap.text}`,
    ],
    fixes: [exclusiveCreate([1, 5]), transaction([1, 5]), mutex(name, [1, 5])],
  }
}

export const externalCheckThenUsePage: RulePage = {
  id: 'H103',
  name: 'external-check-then-use',
  class: 'toctou',
  level: 'warning',
  summary:
    'Something outside the process is checked, then created or written, with no conflict in mind.',
  what: `A file, a row, a key or a port is checked; after a suspension it is created or written,
without an exclusive flag, a conditional write, a transaction, or handling of the conflict.`,
  why: `Other tasks, and other processes, change files and rows as well. The second writer silently
overwrites the first; a check that passed in every test fails under load.`,
  race: source`
    import { access, writeFile } from 'node:fs/promises'

    export async function reserve(name: string, owner: string): Promise<boolean> {
      const file = 'reservations/' + name
      try {
        await access(file)
        return false
      } catch {
        await writeFile(file, owner)
        return true
      }
    }
  `,
  steps: [
    ['A', 'access(): the file does not exist'],
    ['B', 'access(): the file does not exist'],
    ['A', 'writes its name: reserved'],
    ['B', 'writes its name over it: reserved as well'],
  ],
  window: [1, 4],
  fixed: source`
    import { writeFile } from 'node:fs/promises'

    export async function reserve(name: string, owner: string): Promise<boolean> {
      try {
        await writeFile('reservations/' + name, owner, { flag: 'wx' })
        return true
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
        throw error
      }
    }
  `,
  fixes: [
    'Let the system decide: the flag wx for files, SET NX for Redis, a unique constraint or ON CONFLICT for rows.',
    'Put check and write into one transaction, or into one conditional write with a version.',
    'Handle the conflict when it comes, instead of asking for it before.',
  ],
}
