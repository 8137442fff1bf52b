/**
 * Which files of a published package are its code.
 *
 * Packages ship the same code several times: sources, CommonJS, ES modules, bundles, minified. One
 * copy is analysed: the one that holds the wanted file, or else the sources, or else the first build.
 */
import { globSync } from 'node:fs'
import path from 'node:path'

const code = /\.(?:[cm]?[jt]s|[jt]sx)$/
const leftOut =
  /\.d\.[cm]?ts$|\.min\.|(?:^|\/)(?:node_modules|tests?|__tests__|__mocks__|spec|examples?|benchmarks?|bench|docs?|website|fixtures?|demo|typings?|scripts|vendor|deps|\.github|coverage)\/|(?:\.|-|^|\/)(?:test|spec|bench|benchmark)\.[cm]?[jt]sx?$|\.config\.[cm]?[jt]s$|\.umd\.|\.bundle\./

/** Absolute paths. With `near`, only the top folder that contains it (`src`, `lib`, `dist/esm`). */
export function sourcesOf(folder: string, near?: string): string[] {
  const all = globSync('**/*', { cwd: folder })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => code.test(name) && (!leftOut.test(name) || name === near))
  const top = near === undefined ? bestTop(all) : topOf(near)
  const chosen = all.filter((name) => top === '' || name === near || name.startsWith(`${top}/`))
  return chosen.map((name) => path.join(folder, name)).sort()
}

/** `build/src` of `build/src/auth/x.js`, `dist/esm` of `dist/esm/index.js`, `src` of `src/a/b.ts`. */
function topOf(file: string): string {
  const parts = file.split('/').slice(0, -1)
  if (parts.length === 0) return ''
  const isBuild = /^(?:dist|build|out|lib|es|esm|cjs)$/
  return isBuild.test(parts[0]!) &&
    parts.length > 1 &&
    /^(?:src|esm?|cjs|lib|node)$/.test(parts[1]!)
    ? parts.slice(0, 2).join('/')
    : parts[0]!
}

const preferred = [
  'src',
  'source',
  'lib',
  'dist/esm',
  'dist/src',
  'dist',
  'build/src',
  'build',
  'out',
  'es',
  'esm',
]

function bestTop(all: readonly string[]): string {
  return preferred.find((top) => all.some((name) => name.startsWith(`${top}/`))) ?? ''
}
