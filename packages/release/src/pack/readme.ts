import type { PackedPackage } from '../model.ts'
import { findInTarball } from './read-tarball.ts'

/** More is not shown: the public registry cuts at 64 KiB. */
const longest = 64 * 1024

/** The path of a readme in an archive. */
export const readmePath = /^[^/]+\/readme(?:\.(?:md|markdown|txt))?$/i

export interface Readme {
  readonly name: string
  readonly text: string
}

/** Readmes of packages that this process has packed: the archive was read when it was written. */
const known = new WeakMap<PackedPackage, Readme | undefined>()

/** Keeps the readme among the texts of an archive, so that it is not decompressed again for the upload. */
export function rememberReadme(packed: PackedPackage, texts: ReadonlyMap<string, string>): void {
  const found = texts.entries().find(([path]) => readmePath.test(path))
  known.set(packed, found && readmeFrom(...found))
}

function readmeFrom(path: string, text: string): Readme {
  const shown = Buffer.from(text).subarray(0, longest).toString('utf8')
  return { name: path.slice(path.indexOf('/') + 1), text: shown }
}

/**
 * The readme in the archive. Registries show the one in the metadata of a version, and the client
 * puts it there.
 *
 * *Cancellation*: none; it reads one file.
 */
export async function readmeOf(packed: PackedPackage): Promise<Readme | undefined> {
  if (packed.manifest['readme'] !== undefined) return undefined
  if (known.has(packed)) return known.get(packed)
  const found = await findInTarball(packed.artifacts[0]!.file, readmePath, longest)
  return found && readmeFrom(found.path, found.text)
}
