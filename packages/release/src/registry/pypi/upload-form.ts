import type { Artifact, PackedPackage } from '../../model.ts'
import { fileTypeOf, readCoreMetadata, type FormField } from './core-metadata.ts'

/** The fields sent along with a file. Its own metadata takes precedence over ours. */
export async function formOf(
  packed: PackedPackage,
  artifact: Artifact,
  fileName: string,
): Promise<readonly FormField[]> {
  const { filetype, pyversion } = fileTypeOf(fileName)
  const metadata = await readCoreMetadata(artifact)
  const has = new Set(metadata.map(([name]) => name))
  const required: readonly FormField[] = [
    ['metadata_version', '2.1'],
    ['name', packed.name],
    ['version', packed.version],
  ]
  return [
    [':action', 'file_upload'],
    ['protocol_version', '1'],
    ['filetype', filetype],
    ['pyversion', pyversion],
    ['sha256_digest', artifact.sha256],
    ...required.filter(([name]) => !has.has(name)),
    ...metadata,
  ]
}
