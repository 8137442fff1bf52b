/**
 * The metadata in a wheel or an sdist, as the upload form wants it.
 *
 * It is a list of headers as in a mail, with the description as its body. In the form a header is
 * called `requires_dist` instead of `Requires-Dist`; three are plural there.
 */
import type { Artifact } from '../../model.ts'
import { findInTarball } from '../../pack/read-tarball.ts'
import { findInZip } from '../../pack/python/read-zip.ts'

/** Name and value; a name may come several times. */
export type FormField = readonly [name: string, value: string]

const plural: Readonly<Record<string, string>> = {
  classifier: 'classifiers',
  project_url: 'project_urls',
}

const longestMetadata = 4 * 1024 * 1024

/** The metadata that an artifact contains. Empty when there is none to be found. */
export async function readCoreMetadata(artifact: Artifact): Promise<readonly FormField[]> {
  const text = artifact.file.endsWith('.whl')
    ? await findInZip(artifact.file, /^[^/]+\.dist-info\/METADATA$/)
    : (await findInTarball(artifact.file, /^[^/]+\/PKG-INFO$/, longestMetadata))?.text
  return text === undefined ? [] : parseCoreMetadata(text)
}

export function parseCoreMetadata(text: string): readonly FormField[] {
  const normal = text.replaceAll('\r\n', '\n')
  const split = normal.indexOf('\n\n')
  const head = split < 0 ? normal : normal.slice(0, split)
  const body = split < 0 ? '' : normal.slice(split + 2)
  const fields: FormField[] = []
  // A line that starts with a space continues the one before.
  for (const line of head.split(/\n(?![ \t])/)) {
    const colon = line.indexOf(':')
    if (colon <= 0) continue
    const name = line.slice(0, colon).trim().toLowerCase().replaceAll('-', '_')
    const value = line
      .slice(colon + 1)
      .trim()
      .replaceAll(/\n(?: {7}\||[ \t]+)/g, '\n')
    fields.push([plural[name] ?? name, value])
  }
  if (body.trim() !== '') fields.push(['description', body])
  return fields
}

/** `bdist_wheel` with the Python tag of the file name, or `sdist`. */
export function fileTypeOf(fileName: string): { filetype: string; pyversion: string } {
  if (!fileName.endsWith('.whl')) return { filetype: 'sdist', pyversion: 'source' }
  return { filetype: 'bdist_wheel', pyversion: fileName.split('-').at(-3) ?? 'py3' }
}
