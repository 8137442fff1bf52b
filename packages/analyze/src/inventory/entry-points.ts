/** How the starting points of a program are named for people. */
import type { LoopModel } from '../blocking/find-blocking.ts'
import { jobName, jobPlace, placeTags } from '../blocking/jobs.ts'
import type { RootKind } from '../blocking/roots.ts'
import type { CallSite, FunctionUnit } from '../ir/program.ts'
import type { Tag } from '../models/model.ts'

export interface NamedRoot {
  readonly unit: FunctionUnit
  readonly kind: RootKind
  readonly tag: Tag
  readonly name: string
}

export function namedRoots(model: LoopModel): readonly NamedRoot[] {
  const handedTo = new Map<FunctionUnit, CallSite>()
  for (const unit of model.program.units) {
    for (const site of unit.calls) {
      for (const use of site.callbacks) if (!handedTo.has(use.unit)) handedTo.set(use.unit, site)
    }
  }
  const roots: NamedRoot[] = []
  for (const { unit, kind } of model.roots.roots()) {
    const site = handedTo.get(unit) ?? (kind === 'request' ? routeAround(unit) : undefined)
    const place = site === undefined ? undefined : jobPlace(site)
    const tag: Tag =
      place !== undefined ? placeTags[place] : model.roots.isOnLoop(unit) ? 'LOOP' : 'THREAD'
    roots.push({ unit, kind, tag, name: nameOf(unit, kind, site) })
  }
  return roots.toSorted(
    (a, b) =>
      a.unit.file.module.id - b.unit.file.module.id ||
      a.unit.start - b.unit.start ||
      a.unit.id - b.unit.id,
  )
}

/** `app.post('/jobs', { handler: … })`: the innermost call around it that begins with a text. */
function routeAround({ parent, start, end }: FunctionUnit): CallSite | undefined {
  const around = parent?.calls.filter(
    (site) => site.start <= start && site.end >= end && firstText(site) !== undefined,
  )
  return around?.toSorted((a, b) => b.start - a.start)[0]
}

function nameOf(unit: FunctionUnit, kind: RootKind, site: CallSite | undefined): string {
  const own = unit.kind === 'callback' && unit.name.endsWith('<callback>') ? '' : `${unit.name}()`
  const first = site === undefined ? undefined : firstText(site)
  switch (kind) {
    case 'request':
      return join(first === undefined ? (site?.name ?? 'request') : `${verb(site)} ${first}`, own)
    case 'job':
      return `job ${(site === undefined ? undefined : jobName(site)) ?? unit.name}`
    case 'timer':
      return join(
        site?.name === 'setInterval' ? 'every interval' : 'after a timeout',
        own,
        inside(unit),
      )
    case 'event':
      return join(`on ${first ?? 'an event'}`, own, inside(unit))
    case 'process-end':
      return join(`at ${first ?? 'the end of the process'}`, own)
    case 'start-up':
      return unit.kind === 'module' ? 'when the module is loaded' : `${unit.name}()`
    case 'command':
      return site === undefined || unit.kind !== 'callback'
        ? `${unit.name}()`
        : join(`on ${first ?? 'an event'}`, own, inside(unit))
    case 'exported-async':
    case 'exported':
      return `${unit.name}()`
  }
}

function verb(site: CallSite | undefined): string {
  return (site?.name ?? '').toUpperCase()
}

/** The function around a handler that has no name of its own. */
function inside(unit: FunctionUnit): string {
  return unit.kind === 'callback' && unit.namedAs !== '<module>' ? `in ${unit.namedAs}()` : ''
}

function join(...parts: readonly string[]): string {
  const named = parts.filter((part) => part !== '')
  // `on close, end()` already says whose it is.
  return named.length > 2
    ? `${named[0]}, ${named[1]}`
    : named.join(named[1]?.startsWith('in ') ? ' ' : ', ')
}

function firstText({ owner, start, end }: CallSite): string | undefined {
  const text = owner.file.parsed.text.slice(start, Math.min(end, start + 400))
  return /^[^(]*\(\s*['"`]([^'"`\n]*)['"`]/.exec(text)?.[1]
}
