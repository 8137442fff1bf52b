import type { PackedPackage } from '../../model.ts'
import { findInTarball } from '../../pack/read-tarball.ts'

/** More is not shown: the public registry cuts at 64 KiB. */
const longest = 64 * 1024

/**
 * The readme in the archive. Registries show the one in the metadata of a version, and the client is
 * who puts it there.
 *
 * *Cancellation*: none; it reads one file.
 */
export async function readmeOf(
  packed: PackedPackage,
): Promise<{ name: string; text: string } | undefined> {
  if (packed.manifest['readme'] !== undefined) return undefined
  const readme = /^[^/]+\/readme(?:\.(?:md|markdown|txt))?$/i
  const found = await findInTarball(packed.artifacts[0]!.file, readme, longest)
  if (found === undefined) return undefined
  return { name: found.path.slice(found.path.indexOf('/') + 1), text: found.text }
}
