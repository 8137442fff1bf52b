/**
 * A summary of code in which no race was found: its shared state, the other users, and the places where it lets
 * other code run. A reviewer needs that, not only the absence of findings.
 */
import type { Checkpoint, SharedAccess, SharedState } from '../finding.ts'
import { HeldGuards } from '../guards/held.ts'
import type { Access } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { FunctionUnit, Program } from '../ir/program.ts'
import { spanOf } from '../rules/draft.ts'
import { isShared } from '../rules/shared.ts'

export interface Survey {
  /** The target as the caller wrote it: `src/client.ts#connect`. */
  readonly target: string
  readonly file: string
  readonly shared: readonly SharedState[]
  readonly checkpoints: readonly Checkpoint[]
}

/** Looks at the functions that are wanted, and at every function that meets them. */
export function survey(
  program: Program,
  { target, file }: { readonly target: string; readonly file: string },
  isWanted: (unit: FunctionUnit) => boolean,
): Survey {
  const met = new Map<Location, Meeting>()
  for (const { access } of accessesOf(program)) {
    const location = access.location.canonical
    if (!isWanted(access.owner) || location.scope === 'parameter') continue
    if (isShared(location, access.owner.host)) met.set(location, new Meeting())
  }
  for (const { access, guards } of accessesOf(program)) {
    const meeting = met.get(access.location.canonical)
    if (meeting === undefined || access.isInitial) continue
    meeting.add(access, guards)
  }
  const checkpoints = program.units
    .filter(isWanted)
    .flatMap((unit) => unit.suspensions)
    .map((one): Checkpoint => ({ span: spanOf(one), kind: one.kind, note: '' }))
  const names = new Map(program.locations.map(({ key, name }) => [key, name]))
  return {
    target,
    file,
    shared: [...met].map(([location, meeting]) => rowOf(location, meeting, names)),
    checkpoints,
  }
}

class Meeting {
  readonly accesses: Access[] = []
  /** Held at all of them, and at all writes. */
  always: ReadonlySet<string> | undefined
  whenWritten: ReadonlySet<string> | undefined

  add(access: Access, guards: ReadonlySet<string>): void {
    this.accesses.push(access)
    this.always = this.always?.intersection(guards) ?? guards
    if (access.op === 'write') this.whenWritten = this.whenWritten?.intersection(guards) ?? guards
  }

  guard(): string | undefined {
    if (this.whenWritten === undefined) return 'never written after it was made'
    const [always] = this.always ?? []
    const [written] = this.whenWritten
    return always ?? (written === undefined ? undefined : `${written} (for writing)`)
  }
}

function* accessesOf(
  program: Program,
): Generator<{ readonly access: Access; readonly guards: ReadonlySet<string> }> {
  const held = new HeldGuards()
  for (const { graph } of program.units) {
    for (const block of graph?.blocks ?? []) {
      for (const event of block.events) {
        if (event.op !== 'read' && event.op !== 'write') continue
        yield { access: event, guards: held.at(graph!, block.id, event) }
      }
    }
  }
}

function rowOf(
  location: Location,
  meeting: Meeting,
  names: ReadonlyMap<string, string>,
): SharedState {
  const named = (kind: 'read' | 'write'): SharedAccess[] =>
    meeting.accesses
      .filter(({ op }) => op === kind)
      .map((access) => ({ function: access.owner.namedAs, kind, span: spanOf(access) }))
  const guard = meeting.guard()?.replace(/^\S+/, (key) => names.get(key) ?? key)
  return {
    name: location.name,
    scope: location.scope === 'parameter' ? 'closure' : location.scope,
    writers: named('write'),
    readers: named('read'),
    ...(guard !== undefined && { guard }),
  }
}
