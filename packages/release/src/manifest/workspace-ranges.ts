/**
 * Ranges that the folder of a package does not tell: what `workspace:` and `catalog:` stand for changes with the rest of
 * the workspace, while the files of the package stay the same.
 */
import semver from 'semver'
import { isError } from '@heddle/core'
import type { ReleasePlan, WorkspacePackage } from '../model.ts'
import { isFields, type Fields, type ListedRange } from './local-range.ts'
import { RangeResolver } from './resolve-range.ts'

/** The groups whose ranges decide which packages are installed beside a package. */
const installedGroups = ['dependencies', 'optionalDependencies', 'peerDependencies'] as const

/** Keyed by group and dependency, as in a registry. */
export type InstalledRanges = Readonly<Partial<Record<(typeof installedGroups)[number], Fields>>>

/** A published range, and its current form. */
interface OtherRange {
  /** The range in the manifest of the workspace. */
  readonly listed: ListedRange
  readonly published: string
  readonly resolved: string
}

export function installedRanges(manifest: Fields): InstalledRanges {
  return Object.fromEntries(
    installedGroups.flatMap((group) => {
      const ranges = manifest[group]
      return isFields(ranges) ? [[group, ranges]] : []
    }),
  )
}

/**
 * Ranges that would be published otherwise now, where the manifest itself does not say so. One that cannot be resolved is
 * none: packing says what is wrong with it.
 */
export function otherRanges(
  of: WorkspacePackage,
  plan: ReleasePlan,
  published: InstalledRanges,
): OtherRange[] {
  const resolver = new RangeResolver(of, plan)
  return installedGroups.flatMap((group) =>
    Object.entries(installedRanges(of.manifest)[group] ?? {}).flatMap(([dependency, range]) => {
      const before = published[group]?.[dependency]
      if (typeof range !== 'string' || typeof before !== 'string') return []
      const listed = { group, dependency, range }
      const resolved = resolveOrNot(resolver, listed)
      const isTold = resolved === undefined || resolved === range
      return isTold || resolved === before ? [] : [{ listed, published: before, resolved }]
    }),
  )
}

function resolveOrNot(resolver: RangeResolver, listed: ListedRange): string | undefined {
  try {
    return resolver.resolve(listed)
  } catch (error) {
    if (isError(error, 'HDL_LOCAL_RANGE')) return undefined
    throw error
  }
}

/**
 * Whether users of the published package get other versions than the workspace. They get a package of the workspace if
 * the published range still allows it: its dependents need no release.
 */
export function isOutgrown(
  of: WorkspacePackage,
  { listed, published }: OtherRange,
  { packages }: ReleasePlan,
): boolean {
  const internal = of.dependencies.find(({ name, alias = name }) => alias === listed.dependency)
  const target = internal === undefined ? undefined : packages.get(internal.name)
  const range = published.replace(/^npm:.+@/, '')
  return target === undefined || !semver.satisfies(target.version, range)
}
