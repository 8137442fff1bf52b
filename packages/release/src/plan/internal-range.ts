import semver from 'semver'
import {
  hasWorkspacePart,
  rangeOfVersion,
  readWorkspaceRange,
  withVersion,
} from '../manifest/workspace-range.ts'
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
  if (hasWorkspacePart(written)) written = withVersion(written, version)
  const spec = readWorkspaceRange(written)?.spec
  if (spec !== undefined) {
    // Whatever else it says, it is the package of the workspace.
    return rangeOfVersion(spec, version) ?? (semver.validRange(spec) === null ? version : spec)
  }
  if (written.startsWith('npm:')) written = written.slice('npm:'.length).replace(alias, '$<spec>')
  if (/^(?:link|file|portal):|^\.{1,2}\//.test(written)) return `^${version}`
  return semver.validRange(written) === null ? undefined : written
}
