import { createHash } from 'node:crypto'
import path from 'node:path'
import { HeddleError } from '@heddle/core'
import type { Kernel } from '@heddle/core/lowlevel'
import type { Fields } from '../../manifest/local-range.ts'
import { normalName, pythonVersion } from '../../manifest/requirement.ts'
import type { Artifact } from '../../model.ts'
import { byPath, readEntry, type ArchiveEntry } from '../archive-entry.ts'
import type { Limit } from '../limit.ts'
import { tarGzip } from '../tar.ts'
import { writeArtifact } from '../write-artifact.ts'
import { layoutOf } from './layout.ts'
import { entryPoints, metadata, readmeFile } from './metadata.ts'
import { sourceFiles } from './source-files.ts'
import { zip } from './zip.ts'

export interface PythonSource {
  readonly name: string
  readonly folder: string
  /** pyproject.toml as it is released, and what it says. */
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

/** The entries, and at last the RECORD with the hash of each. */
async function* withRecord(
  entries: readonly ArchiveEntry[],
  record: string,
): AsyncGenerator<ArchiveEntry> {
  let lines = ''
  for (const one of entries) {
    const hash = createHash('sha256')
    let size = 0
    const hashed = readEntry(one, ({ pieces }) => pieces)
    for await (const piece of hashed) {
      hash.update(piece)
      size += piece.length
    }
    const name = /[",\n]/.test(one.path) ? `"${one.path.replaceAll('"', '""')}"` : one.path
    lines += `${name},sha256=${hash.digest('base64url')},${size}\n`
    yield one
  }
  yield entry(record, Buffer.from(`${lines}${record},,\n`))
}

/**
 * A wheel and an sdist without the backend, for packages that layout.ts allows. The same files give
 * the same bytes.
 *
 * @throws `HDL_PACK_FAILED` saying why the package needs its backend.
 */
export async function* buildItself(
  source: PythonSource,
  folder: string,
  limit: Limit,
  kernel: Kernel,
): AsyncGenerator<Artifact> {
  const project = source.document['project'] as Fields
  const files = await sourceFiles(source.folder, limit.signal)
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
  yield await writeArtifact(wheel, zip(withRecord(inWheel, `${dist}/RECORD`)), limit, kernel)
  yield await writeArtifact(sdist, tarGzip(inSdist), limit, kernel)
}
