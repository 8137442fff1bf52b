import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import type { Journal } from '@heddle/core/lowlevel'
import type { Artifact, PackedPackage } from '../model.ts'
import { nodeName, partsOf } from '../stages/stages.ts'

/**
 * Whether the archives that a release still has to upload are where it left them, unchanged.
 *
 * *Cancellation*: none; it reads files of this machine.
 * *Fairness*: does not apply.
 */
export async function isIntact(journal: Journal, run: string): Promise<boolean> {
  const packed = new Map<string, PackedPackage>()
  for await (const [node, value] of journal.results(run)) {
    const parts = partsOf(node)
    if (parts?.stage === 'pack' && value !== null) packed.set(parts.name, value as PackedPackage)
    else if (parts?.stage === 'upload') packed.delete(parts.name)
  }
  for (const { artifacts } of packed.values()) {
    for (const artifact of artifacts) if (!(await isSame(artifact))) return false
  }
  return true
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
