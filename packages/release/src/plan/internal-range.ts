import semver from 'semver'
import { hasWorkspacePart, rangeOfVersion, withVersion } from '../manifest/workspace-range.ts'
import type { InternalDependency, Workspace } from '../model.ts'

const alias = /^(?:@[^/@]+\/)?[^/@]+@(?<spec>.*)$/

/**
 * The range that a dependency on a package of the same workspace means while that package has this
 * version: `workspace:^` is `^1.2.3`. Undefined for other values: addresses, tags such as
 * `next`, catalogs that do not list it.
 */
export function internalRange(
  { name, alias: key = name, range }: InternalDependency,
  version: string,
  { catalogs }: Pick<Workspace, 'catalogs'>,
): string | undefined {
  let written = range
  if (written.startsWith('catalog:')) {
    const found = catalogs.get(written.slice('catalog:'.length).trim() || 'default')?.get(key)
    if (found === undefined || found.startsWith('catalog:')) return undefined
    written = found
  }
  if (written.startsWith('npm:')) written = written.slice('npm:'.length).replace(alias, '$<spec>')
  if (hasWorkspacePart(written)) written = withVersion(written, version)
  if (written.startsWith('workspace:')) {
    const spec = written.slice('workspace:'.length).replace(alias, '$<spec>')
    const bare = rangeOfVersion(spec, version)
    if (bare !== undefined) return bare
    // A folder stands for the version that is in it.
    return semver.validRange(spec) === null ? version : spec
  }
  if (/^(?:link|file|portal):|^\.{1,2}\//.test(written)) return `^${version}`
  return semver.validRange(written) === null ? undefined : written
}
