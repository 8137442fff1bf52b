/**
 * The manifest as registries get it. The archive keeps what its author wrote; npm sends the registry one shape of it,
 * and registries and their pages rely on that: with provenance, the public one refuses a repository that is a string.
 */
import { HeddleError } from '@heddle/core'
import type { Fields } from '../../manifest/local-range.ts'

/** The steps of `npm publish` that read only the manifest. */
const steps = [
  '_attributes',
  'bundledDependencies',
  'bundleDependencies',
  'bundleDependenciesDeleteFalse',
  'overrides',
  'scriptpath',
  'normalizeData',
  'bin',
]

/**
 * `readme`, where there is one, gives a package without a description its first sentence. It is not in the result.
 *
 * *Cancellation*: none; nothing is waited for.
 * @throws `HDL_PACK_FAILED` for what npm refuses.
 */
export async function registryManifest(
  manifest: Fields,
  readme: string | undefined,
): Promise<Fields> {
  // Loaded where something is uploaded.
  const { default: PackageJson } = await import('@npmcli/package-json')
  const content = structuredClone({ ...manifest, ...(readme !== undefined && { readme }) })
  try {
    const { content: made } = await new PackageJson().fromContent(content).normalize({ steps })
    const { readme: _, ...fields } = made
    return fields
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    const name = String(manifest['name'])
    throw new HeddleError('HDL_PACK_FAILED', { package: name, problem }, { cause: error })
  }
}
