/**
 * Ranges that mean something in this workspace only. One that gets into an archive cannot be
 * installed from a registry, so they are looked for twice: in the manifest before it is packed, and in
 * the archive afterwards.
 */
import { HeddleError, isError } from '@heddle/core'

/** The groups of package.json whose ranges are resolved. */
export const dependencyGroups = [
  'dependencies',
  'devDependencies',
  'optionalDependencies',
  'peerDependencies',
] as const
export type DependencyGroup = (typeof dependencyGroups)[number]

/** Replacements of ranges. They are not resolved: installers of a package do not read them. */
const overrideGroups = ['overrides', 'resolutions', 'pnpm.overrides'] as const

export type Fields = Readonly<Record<string, unknown>>

/** A dependency as a manifest lists it. */
export interface ListedRange {
  readonly group: string
  readonly dependency: string
  readonly range: string
}

const localProtocol = /^(?:workspace|catalog|link|file|portal|patch|exec|git\+file):/i
/** The same as one of several parts: `^1.0.0 || workspace:^`. */
const localPart = /\|\|\s*(?:workspace|catalog|link|file|portal|patch|exec):/i
const aliasedLocal = /^npm:.*@(?:workspace|catalog|link|file|portal):/i
/** What npm takes for a folder or a file: `../p`, `~/p`, `/p`, `C:\p`, `p.tgz`. */
const localPath = /^(?:\.|~\/|\/|[a-z]:[\\/])|^[^:]*\.(?:tgz|tar\.gz|tar)$/i

export function isLocalRange(range: string): boolean {
  return [localProtocol, localPart, aliasedLocal, localPath].some((kind) => kind.test(range))
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The texts of a group, also of overrides inside overrides. */
function rangesOf(group: string, fields: unknown): ListedRange[] {
  if (!isFields(fields)) return []
  return Object.entries(fields).flatMap(([dependency, range]) =>
    typeof range === 'string' ? { group, dependency, range } : rangesOf(group, range),
  )
}

/** Every local range in a manifest of npm. */
export function localRangesIn(manifest: Fields): ListedRange[] {
  const groups = [...dependencyGroups, ...overrideGroups].flatMap((group) => {
    let fields: unknown = manifest
    for (const key of group.split('.')) fields = isFields(fields) ? fields[key] : undefined
    return rangesOf(group, fields)
  })
  return groups.filter(({ range }) => isLocalRange(range))
}

export function localRangeError(
  name: string,
  listed: ListedRange,
  problem: string,
): HeddleError<'HDL_LOCAL_RANGE'> {
  return new HeddleError('HDL_LOCAL_RANGE', { package: name, ...listed, problem })
}

/**
 * The second look: at the manifest that is in the archive.
 *
 * @throws `HDL_LOCAL_RANGE` for the first one; `errors` has all of them.
 */
export function checkNoLocalRanges(name: string, manifest: Fields): void {
  const errors = localRangesIn(manifest).map((listed) =>
    localRangeError(name, listed, 'it was left in the archive'),
  )
  throwFirst(errors)
}

/** Throws the first error, carrying all of them, if there is one. */
export function throwFirst(errors: readonly HeddleError<'HDL_LOCAL_RANGE'>[]): void {
  const [first] = errors
  if (first === undefined) return
  if (errors.length === 1) throw first
  throw new HeddleError(first.code, first.details, { cause: first, errors })
}

/** The result of `work`; a local range is collected instead, to be reported with the others. */
export function orCollect<T>(
  errors: HeddleError<'HDL_LOCAL_RANGE'>[],
  work: () => T,
): T | undefined {
  try {
    return work()
  } catch (error) {
    if (!isError(error, 'HDL_LOCAL_RANGE')) throw error
    errors.push(error)
    return undefined
  }
}
