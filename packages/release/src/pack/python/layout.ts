/**
 * The packages that our own builder may pack, and the reasons against the others.
 *
 * Building a Python package is its backend's business. Where neither `uv` nor `build` is installed,
 * packages for which all common backends do the same thing are packed without them: static metadata,
 * no settings of the backend, one package or module of the project's own name, Python files only.
 * Everything else is refused, never guessed.
 */
import { isFields, type Fields } from '../../manifest/local-range.ts'
import { normalName } from '../../manifest/requirement.ts'
import { valueAt } from '../../manifest/text-edit.ts'

const backends = [
  'flit_core.buildapi',
  'hatchling.build',
  'setuptools.build_meta',
  'uv_build',
] as const

/** Settings that change the files that a backend packs. */
const settings = [
  ['tool', 'flit'],
  ['tool', 'hatch', 'build'],
  ['tool', 'hatch', 'metadata'],
  ['tool', 'setuptools'],
  ['tool', 'uv', 'build-backend'],
]

/** Files with which setuptools can do anything. */
const programs = ['setup.py', 'setup.cfg', 'MANIFEST.in']

export interface Layout {
  /** Files of the wheel: where they are, and where they go. */
  readonly files: readonly { readonly from: string; readonly to: string }[]
}

const refuse = (problem: string): { readonly problem: string } => ({ problem })

function problemOf(document: Fields, files: readonly string[]): string | undefined {
  const { project } = document
  if (!isFields(project)) return 'it has no [project]'
  const { dynamic } = project
  if (Array.isArray(dynamic) && dynamic.length > 0) return `${dynamic.join(', ')} is dynamic`
  if (typeof project['version'] !== 'string') return 'it has no version'
  const backend = valueAt(document, ['build-system', 'build-backend']) ?? 'setuptools.build_meta'
  if (!backends.some((known) => known === backend))
    return `its backend is ${JSON.stringify(backend)}`
  if (valueAt(document, ['build-system', 'backend-path']) !== undefined) {
    return 'it brings its own backend'
  }
  const setting = settings.find((path) => valueAt(document, path) !== undefined)
  if (setting !== undefined) return `it has [${setting.join('.')}]`
  return programs.find((file) => files.includes(file))?.concat(' decides its content')
}

/** The wheel's files, or the obstacle. `files` are those of the package's folder. */
export function layoutOf(
  document: Fields,
  files: readonly string[],
): Layout | { readonly problem: string } {
  const problem = problemOf(document, files)
  if (problem !== undefined) return refuse(problem)
  const name = normalName(String(valueAt(document, ['project', 'name']))).replaceAll('-', '_')
  const roots = ['src/', ''].filter(
    (root) => files.includes(`${root}${name}/__init__.py`) || files.includes(`${root}${name}.py`),
  )
  const [root] = roots
  if (root === undefined) return refuse(`it has no package or module ${name}`)
  if (roots.length > 1) return refuse(`it has ${name} twice, in src and beside it`)
  const found = files.filter(
    (file) => file === `${root}${name}.py` || file.startsWith(`${root}${name}/`),
  )
  const data = found.find((file) => !/\.pyi?$|\/py\.typed$/.test(file))
  if (data !== undefined) return refuse(`${data} is data, for which backends have rules`)
  return { files: found.map((from) => ({ from, to: from.slice(root.length) })) }
}
