/** Files that a manifest names, and whether the archive has them: a package that was not built has none of them. */
import path from 'node:path'
import { isFields, type Fields } from '../manifest/local-range.ts'
import { exportsOf, isProgramName, loadKinds, programOf } from './entry-points.ts'

export interface MissingFiles {
  /** Files that Node would import, with the field that names them: `dist/index.js ("main")`. */
  readonly programs: readonly string[]
  /** Everything else that users would miss: types, programs of `bin`, entries of `files`. */
  readonly others: readonly string[]
}

/** What Node adds to the name in `main`, in its order. */
const mainEndings = ['', '.js', '.json', '.node', '/index.js', '/index.json', '/index.node']
const defaultMains = ['index.js', 'index.json', 'index.node']

/** Compares a manifest with the files of its archive, which are relative to the folder of the package. */
export function findMissingFiles(manifest: Fields, files: Iterable<string>): MissingFiles {
  const present = new Set(files)
  const isPresent = (file: string): boolean => present.has(path.posix.join(file))
  const named = (file: string, field: string): string => `${path.posix.join(file)} ("${field}")`
  const missing = (field: string, ...targets: readonly unknown[]): string[] =>
    targets.flatMap((target) =>
      typeof target === 'string' && target !== '' && !isPresent(target)
        ? [named(target, field)]
        : [],
    )
  const { exports, main, types, typings, module, bin } = manifest
  const hasExports = exports !== undefined && exports !== null
  const targets = hasExports ? exportsOf(exports) : []
  const programs = hasExports
    ? targets.flatMap(([, target]) =>
        missing('exports', ...loadKinds.map((kind) => programOf(target, kind))),
      )
    : missingMain(main, isPresent).map((file) => named(file, 'main'))
  const others = [
    ...missing('types', types, typings),
    ...missing('module', module),
    ...missing('bin', ...(isFields(bin) ? Object.values(bin) : [bin])),
    ...targets.flatMap(([, target]) => missing('exports', ...typesIn(target))),
    ...missingEntries(manifest['files'], present),
  ]
  return { programs: [...new Set(programs)], others: [...new Set(others)] }
}

/** Node falls back to `index.js` where the file in `main` is not there. */
function missingMain(main: unknown, isPresent: (file: string) => boolean): string[] {
  if (typeof main !== 'string' || main === '' || !isProgramName(main)) return []
  const candidates = [...mainEndings.map((ending) => `${main}${ending}`), ...defaultMains]
  return candidates.some(isPresent) ? [] : [main]
}

/** Declarations below the condition `types`. */
function typesIn(target: unknown): unknown[] {
  if (Array.isArray(target)) return target.flatMap(typesIn)
  if (!isFields(target)) return []
  return Object.entries(target).flatMap(([condition, inner]) =>
    condition === 'types' && typeof inner === 'string' ? [inner] : typesIn(inner),
  )
}

/** Entries of `files` that are plain paths and have packed nothing. */
function missingEntries(entries: unknown, present: ReadonlySet<string>): string[] {
  return plainEntries(entries).flatMap((place) => {
    const isPacked = [...present].some(
      (file) => file === place || file.startsWith(`${place}/`) || place === '.',
    )
    return isPacked ? [] : [namedEntry(place)]
  })
}

function plainEntries(entries: unknown): string[] {
  if (!Array.isArray(entries)) return []
  return entries.flatMap((entry) => {
    if (typeof entry !== 'string' || /[*?[\]{}!()]/.test(entry)) return []
    return [path.posix.join('.', entry.replace(/^\/+/, '')).replace(/\/$/, '')]
  })
}

const namedEntry = (place: string): string => `${place} ("files")`

/** Texts for people, which no build makes. Many lists of `files` name some that are not there. */
const text =
  /^(?:readme|licen[cs]e|copying|changelog|changes|history|notice|authors|security)\b[^/]*$/i

/**
 * Those of the missing files that say that a package was not built: what a field other than `files` names, and the
 * entries of `files` where none of them has packed anything.
 */
export function unbuiltFiles(manifest: Fields, missing: readonly string[]): string[] {
  const entries = plainEntries(manifest['files'])
    .filter((place) => !text.test(place))
    .map(namedEntry)
  const isAllMissing = entries.every((entry) => missing.includes(entry))
  return missing.filter(
    (file) => !file.endsWith('("files")') || (isAllMissing && entries.includes(file)),
  )
}
