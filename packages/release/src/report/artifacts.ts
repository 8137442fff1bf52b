import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import type { Artifact, PackedPackage } from '../model.ts'
import { nodeName, partsOf } from '../stages/stages.ts'

/**
 * Packages that a release still has to upload and whose archives are not where it left them,
 * unchanged.
 *
 * *Cancellation*: none; it reads files of this machine.
 */
export async function lostArchives(
  results: ReadonlyMap<string, unknown>,
  unseen: ReadonlyMap<string, unknown>,
): Promise<Set<string>> {
  const lost = new Set<string>()
  for (const node of results.keys()) {
    const parts = partsOf(node)
    if (parts?.stage !== 'pack') continue
    if (results.has(nodeName(parts.name, 'upload')) && !unseen.has(parts.name)) continue
    for (const artifact of packedOf(results, parts.name)?.artifacts ?? []) {
      if (!(await isSame(artifact))) lost.add(parts.name)
    }
  }
  return lost
}

async function isSame({ file, sha256 }: Artifact): Promise<boolean> {
  const hash = createHash('sha256')
  try {
    await pipeline(createReadStream(file), hash)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
  return hash.digest('hex') === sha256
}

/** The archive of a package, where it was packed. */
export function packedOf(
  results: ReadonlyMap<string, unknown>,
  name: string,
): PackedPackage | undefined {
  return (results.get(nodeName(name, 'pack')) as PackedPackage | null | undefined) ?? undefined
}
