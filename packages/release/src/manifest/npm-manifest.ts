import semver from 'semver'
import { HeddleError } from '@heddle/core'
import type { PlannedPackage, ReleasePlan } from '../model.ts'
import {
  dependencyGroups,
  isFields,
  localRangeError,
  localRangesIn,
  orCollect,
  throwFirst,
  type Fields,
} from './local-range.ts'
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

/** With the fields of `publishConfig` in their place; what is left there is for the registry client. */
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

/** Scripts of a publication: pnpm leaves them out of what it publishes. */
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
 * The manifest that goes into the archive: the one of the package with the planned version, the
 * fields of `publishConfig` in place, and every range as others can install it (the table is in
 * resolve-range.ts). Keys keep their order; everything else is as it was.
 *
 * @throws `HDL_LOCAL_RANGE` naming package, group and range; `errors` has all of them.
 */
export function releaseManifest(
  planned: PlannedPackage,
  plan: ReleasePlan,
  options: ReleaseManifestOptions = {},
): Fields {
  const own = planned.package.manifest
  const isPnpm = plan.workspace.tool === 'pnpm'
  const manifest = withPublishConfig(isPnpm ? asPnpm(own) : own)
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
  return manifest
}
