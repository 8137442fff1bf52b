import semver from 'semver'
import { HeddleError } from '@heddle/core'
import type { PlannedPackage, ReleasePlan, Workspace } from '../model.ts'
import {
  dependencyGroups,
  isFields,
  localRangeError,
  localRangesIn,
  orCollect,
  throwFirst,
  type Fields,
} from './local-range.ts'
import { badManifest } from './manifest-text.ts'
import { RangeResolver } from './resolve-range.ts'

export interface ReleaseManifestOptions {
  /**
   * `keep` (default): resolved like all others, because tools read them, though installing the package does
   * not install them. `omit`: left out of the archive.
   */
  readonly devDependencies?: 'keep' | 'omit'
}

/** Fields that `publishConfig` may replace: the ones of pnpm but `name`, which the plan decides. */
const replaceable = new Set([
  'bin',
  'browser',
  'cpu',
  'engines',
  'es2015',
  'esnext',
  'exports',
  'imports',
  'libc',
  'main',
  'module',
  'os',
  'type',
  'types',
  'typesVersions',
  'typings',
  'umd:main',
  'unpkg',
])

/** Fields that Yarn takes from `publishConfig`, where they are not empty. */
const replacedByYarn = [
  'type',
  'main',
  'browser',
  'module',
  'exports',
  'imports',
  'bin',
  'types',
  'typings',
]

/** The manifest that Yarn packs: the fields are in their place, and `publishConfig` stays whole. */
function asYarn(manifest: Fields): Record<string, unknown> {
  const { publishConfig } = manifest
  if (!isFields(publishConfig)) return { ...manifest }
  const replaced = Object.entries(publishConfig).filter(
    ([key, value]) => replacedByYarn.includes(key) && Boolean(value),
  )
  return { ...manifest, ...Object.fromEntries(replaced) }
}

/** The fields as the package manager of the workspace packs them. npm takes none from `publishConfig`. */
function packedFields(manifest: Fields, tool: Workspace['tool']): Record<string, unknown> {
  switch (tool) {
    case 'npm':
      return { ...manifest }
    case 'yarn':
      return asYarn(manifest)
    case 'pnpm':
      return withPublishConfig(asPnpm(manifest))
    case 'bun':
    case 'uv':
    case 'single':
      return withPublishConfig(manifest)
  }
}

/** With the fields of `publishConfig` in their place; the rest of it is for the registry client. */
function withPublishConfig(manifest: Fields): Record<string, unknown> {
  const { publishConfig } = manifest
  if (!isFields(publishConfig)) return { ...manifest }
  const entries = Object.entries(publishConfig)
  const replaced = entries.filter(([key]) => replaceable.has(key))
  const rest = entries.filter(([key]) => !replaceable.has(key))
  const released: Record<string, unknown> = { ...manifest, ...Object.fromEntries(replaced) }
  if (rest.length > 0) released['publishConfig'] = Object.fromEntries(rest)
  else delete released['publishConfig']
  return released
}

/** Scripts of a publication: pnpm removes them from the published manifest. */
const publishScripts = new Set([
  'prepublishOnly',
  'prepack',
  'prepare',
  'postpack',
  'publish',
  'postpublish',
])

/** Without what pnpm keeps to the workspace. */
function asPnpm(manifest: Fields): Record<string, unknown> {
  const { pnpm: _settings, packageManager: _manager, ...released } = manifest
  const { scripts } = released
  if (!isFields(scripts)) return released
  const kept = Object.entries(scripts).filter(([name]) => !publishScripts.has(name))
  return { ...released, scripts: Object.fromEntries(kept) }
}

function checkIdentity(planned: PlannedPackage, manifest: Fields): void {
  const { name, isPrivate } = planned.package
  const { publishConfig } = manifest
  const otherName = isFields(publishConfig) ? (publishConfig['name'] ?? name) : name
  const version = semver.parse(planned.version)
  let problem: string | undefined
  if (isPrivate) problem = 'it is private'
  else if (version === null) problem = `"${planned.version}" is not a version`
  else if (version.build.length > 0) problem = buildMetadata(version)
  else if (manifest['name'] !== name) problem = `its manifest is called ${String(manifest['name'])}`
  else if (otherName !== name) problem = 'publishConfig gives it another name'
  if (problem !== undefined) throw new HeddleError('HDL_PACK_FAILED', { package: name, problem })
}

/** npm publishes `1.0.0+build` as 1.0.0: a release that looks for the former would look for ever. */
function buildMetadata({ raw, version }: semver.SemVer): string {
  return `its version ${raw} has build metadata, which registries drop: they would show ${version}. Make it ${version}, or a prerelease`
}

/**
 * JSON.parse() reads `1e999` as Infinity, which JSON.stringify() writes as null: the archive would hold another
 * manifest. Returns the path of the first such number.
 */
function findInfinite(manifest: Fields): string | undefined {
  const left: { readonly at: string; readonly value: unknown }[] = [{ at: '', value: manifest }]
  // It grows on the way.
  for (const { at, value } of left) {
    if (value === Infinity || value === -Infinity) return at
    if (typeof value !== 'object' || value === null) continue
    for (const [key, inner] of Object.entries(value)) {
      left.push({ at: at === '' ? key : `${at}.${key}`, value: inner })
    }
  }
  return undefined
}

/** The manifest as it is read back from the archive: `-0` is written as 0. */
function asWritten(file: string, manifest: Fields): Fields {
  const infinite = findInfinite(manifest)
  if (infinite === undefined) return JSON.parse(JSON.stringify(manifest)) as Fields
  const problem = `"${infinite}" is a number too large for JavaScript, which would publish it as null: write a smaller one, or put it in quotes`
  throw badManifest(file, problem)
}

/**
 * The manifest that goes into the archive: the one of the package with the planned version, the
 * fields of `publishConfig` in place where the package manager puts them there, and every range as others can install it (the table is in
 * resolve-range.ts). Keys keep their order; everything else is as it was.
 *
 * @throws `HDL_LOCAL_RANGE` naming package, group and range; `errors` has all of them. `HDL_BAD_MANIFEST` naming a number
 * that JSON cannot write.
 */
export function releaseManifest(
  planned: PlannedPackage,
  plan: ReleasePlan,
  options: ReleaseManifestOptions = {},
): Fields {
  const manifest = packedFields(planned.package.manifest, plan.workspace.tool)
  checkIdentity(planned, manifest)
  manifest['version'] = planned.version
  if (options.devDependencies === 'omit') delete manifest['devDependencies']

  const resolver = new RangeResolver(planned.package, plan)
  const errors: HeddleError<'HDL_LOCAL_RANGE'>[] = []
  for (const group of dependencyGroups) {
    const listed = manifest[group]
    if (!isFields(listed)) continue
    const resolved: Record<string, unknown> = { ...listed }
    for (const [dependency, range] of Object.entries(listed)) {
      if (typeof range !== 'string') continue
      resolved[dependency] = orCollect(errors, () => resolver.resolve({ group, dependency, range }))
    }
    manifest[group] = resolved
  }
  if (errors.length === 0) {
    for (const listed of localRangesIn(manifest)) {
      errors.push(localRangeError(planned.package.name, listed, 'it was not resolved'))
    }
  }
  throwFirst(errors)
  return asWritten(planned.package.manifestFile, manifest)
}
