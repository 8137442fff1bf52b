import { isFields, type Fields } from './local-range.ts'

/** Names of the packages that a package bundles, from the forms that npm accepts. */
export function bundledNames(manifest: Fields): string[] {
  const listed = manifest['bundleDependencies'] ?? manifest['bundledDependencies']
  const { dependencies } = manifest
  if (Array.isArray(listed)) return listed.filter((name) => typeof name === 'string')
  return listed === true && isFields(dependencies) ? Object.keys(dependencies) : []
}
