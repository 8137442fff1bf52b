import path from 'node:path'
import { HeddleError } from '@heddle/core'
import type { Fields } from '../../manifest/local-range.ts'
import { normalName, pythonVersion } from '../../manifest/requirement.ts'
import { byPath, type ArchiveEntry } from '../archive-entry.ts'
import type { ArchiveSource, WrittenArchive } from '../archive-job.ts'
import { writeArchive } from '../write-archive.ts'
import { layoutOf } from './layout.ts'
import { entryPoints, metadata, metadataPath, readmeFile } from './metadata.ts'
import { sourceFiles } from './source-files.ts'

export interface PythonSource {
  readonly name: string
  readonly folder: string
  /** The released pyproject.toml, and its data. */
  readonly text: string
  readonly document: Fields
}

/** Texts that must be passed on; not deeper than the package's own folder. */
const licenseName = /^(?:licen[cs]e|copying|notice|authors)[^/]*$/i

const wheelText =
  'Wheel-Version: 1.0\nGenerator: heddle\nRoot-Is-Purelib: true\nTag: py3-none-any\n'

const entry = (place: string, content: ArchiveEntry['content']): ArchiveEntry => ({
  path: place,
  isExecutable: false,
  content,
})

/**
 * A wheel and an sdist without the backend, for packages that layout.ts allows. The same files give
 * the same bytes.
 *
 * @throws `HDL_PACK_FAILED` saying why the package needs its backend.
 */
export async function* buildItself(
  source: PythonSource,
  folder: string,
  signal: AbortSignal,
): AsyncGenerator<WrittenArchive> {
  const project = source.document['project'] as Fields
  const files = await sourceFiles(source.folder, signal)
  const layout = layoutOf(source.document, files)
  if ('problem' in layout) {
    const problem = `${layout.problem}, so it needs its build backend: install uv, or python -m build`
    throw new HeddleError('HDL_PACK_FAILED', { package: source.name, problem })
  }
  const onDisk = (file: string): ArchiveEntry['content'] => ({
    file: path.join(source.folder, file),
  })
  const licenses = files.filter((file) => licenseName.test(file))
  const info = Buffer.from(await metadata(project, source.folder, licenses))
  const points = entryPoints(project)
  const base = `${normalName(source.name).replaceAll('-', '_')}-${pythonVersion(String(project['version']))}`

  const inWheel = layout.files.map(({ from, to }) => entry(to, onDisk(from))).sort(byPath)
  const dist = `${base}.dist-info`
  inWheel.push(entry(`${dist}/METADATA`, info), entry(`${dist}/WHEEL`, Buffer.from(wheelText)))
  if (points !== undefined) inWheel.push(entry(`${dist}/entry_points.txt`, Buffer.from(points)))
  for (const file of licenses) inWheel.push(entry(`${dist}/licenses/${file}`, onDisk(file)))

  const readme = readmeFile(project)
  const named = [...licenses, ...(readme === undefined ? [] : [path.posix.normalize(readme)])]
  const inSdist = [...new Set([...layout.files.map(({ from }) => from), ...named])]
    .map((file) => entry(`${base}/${file}`, onDisk(file)))
    .concat(
      entry(`${base}/PKG-INFO`, info),
      entry(`${base}/pyproject.toml`, Buffer.from(source.text)),
    )
    .sort(byPath)

  const wheel = path.join(folder, `${base}-py3-none-any.whl`)
  const sdist = path.join(folder, `${base}.tar.gz`)
  const record = `${dist}/RECORD`
  const wheelSource: ArchiveSource = { kind: 'wheel', entries: inWheel, record }
  yield await writeArchive({ file: wheel, source: wheelSource, readBack: metadataPath }, signal)
  const sdistSource: ArchiveSource = { kind: 'tar', entries: inSdist }
  yield await writeArchive({ file: sdist, source: sdistSource, readBack: metadataPath }, signal)
}
