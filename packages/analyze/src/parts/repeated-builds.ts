/**
 * One defect in several builds of the same source: `dist/cjs` and `dist/esm`, or `src` beside `dist`.
 *
 * It is repaired once, so it is reported once. The others become notes that say where the first one is.
 *
 * Two files are builds of one source when they belong to one package, have the same path below different
 * build folders, and the function has the same text in both. Equal findings alone say nothing: two
 * packages may have the same code, and both have to be repaired.
 */
import path from 'node:path'
import type { Finding } from '../finding.ts'
import { pushTo } from '../rules/host.ts'

export interface Surroundings {
  /** The folder of the package that the file of a finding belongs to. */
  packageOf(finding: Finding): string
  /** The text of the function that a finding is in; undefined when it is not known. */
  functionTextOf(finding: Finding): string | undefined
}

/** @param findings In the order of the report, which stays. */
export function noteRepeatedBuilds(findings: readonly Finding[], around: Surroundings): Finding[] {
  const alike = new Map<string, Finding[]>()
  const keys = new Map<Finding, string>()
  for (const finding of findings) {
    if (finding.level === 'note') continue
    const key = keyOf(finding, around)
    keys.set(finding, key)
    pushTo(alike, key, finding)
  }
  return findings.map((finding) => {
    const key = keys.get(finding)
    const first = key === undefined ? finding : sourceOf(alike.get(key)!)
    if (first.file === finding.file || !hasSameCode(first, finding, around)) return finding
    return {
      ...finding,
      level: 'note',
      builtFrom: first.checkSpan,
      evidence: [
        ...finding.evidence,
        `the same code is reported at ${first.file}:${first.line}, of which this is another build`,
      ],
    }
  })
}

/** Equal for findings that may be one defect in two builds. */
function keyOf(finding: Finding, around: Surroundings): string {
  const { rule, function: name, message, file } = finding
  return JSON.stringify([
    rule,
    name,
    withoutImports(message),
    around.packageOf(finding),
    pathInBuild(file),
  ])
}

const buildFolder =
  /^(?:src|source|lib|dist|build|built|out|output|cjs|commonjs|mjs|esm|es\d*|esnext|module|modern|legacy|umd)$/

/** `log` of `dist/cjs/log.js`, of `dist-es/log.mjs` and of `src/log.ts`. */
function pathInBuild(file: string): string {
  const { dir, name } = path.posix.parse(file)
  const folders = dir
    .split('/')
    .filter((folder) => !folder.split(/[-_]/).every((part) => buildFolder.test(part)))
  return [...folders, name].join('/')
}

/** Compilers to CommonJS write `(0, module_1.call)(…)` or `import_module.call(…)` for `call(…)`. */
function withoutImports(text: string): string {
  return text
    .replace(/\(0, ?[\w$]+\.([\w$]+)\)/g, '$1')
    .replace(/(?<![\w$.])(?:import_[\w$]+|[\w$]+_\d+)\.(?=[\w$])/g, '')
}

/** The source that people edit, where it is analysed: TypeScript rather than JavaScript. Else the first one. */
function sourceOf(alike: readonly Finding[]): Finding {
  return alike.find(({ file }) => isTypeScript(file)) ?? alike[0]!
}

function isTypeScript(file: string): boolean {
  return /\.[cm]?tsx?$/.test(file)
}

/** The words of the function are the same. A build of TypeScript lacks those of its types. */
function hasSameCode(source: Finding, build: Finding, around: Surroundings): boolean {
  const from = wordsOf(around.functionTextOf(source))
  const to = wordsOf(around.functionTextOf(build))
  if (from.length === 0 || to.length === 0) return false
  if (!isTypeScript(source.file) || isTypeScript(build.file))
    return from.length === to.length && from.every((word, at) => word === to[at])
  let found = 0
  for (const word of from) if (word === to[found]) found++
  return found === to.length
}

function wordsOf(text: string | undefined): readonly string[] {
  return text === undefined ? [] : (withoutImports(text).match(/[\w$#]+/g) ?? [])
}
