import { globSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { typedPackage, untypedPackages } from './corpus.ts'
import { corpusFolder } from './needs.ts'

export interface Sources {
  readonly root: string
  /** Absolute. */
  readonly files: readonly string[]
  readonly lines: number
}

/** The files that every entrant gets: at least `lines` lines of them, or all. */
export function typedSources(lines: number): Sources {
  const root = path.join(corpusFolder(), typedPackage.name)
  return taken(root, globSync('src/**/*.ts', { cwd: root }), lines)
}

export function untypedSources(lines: number): Sources {
  return sourcesOf(
    untypedPackages.map(({ name }) => name),
    lines,
  )
}

/** All of it imports itself: it cannot be shared among threads. */
export function onePackageSources(lines: number): Sources {
  return sourcesOf(['webpack'], lines)
}

function sourcesOf(packages: readonly string[], lines: number): Sources {
  const root = corpusFolder()
  const patterns = packages.map((name) => `${name}/**/*.{js,cjs,mjs,ts}`)
  const files = globSync(patterns, { cwd: root, exclude: (name) => name === 'node_modules' })
  return taken(
    root,
    files.filter((file) => !/\.min\.js$|\.d\.ts$|\/(?:dist|built|vite)\//.test(file)),
    lines,
  )
}

function taken(root: string, names: readonly string[], wanted: number): Sources {
  const files: string[] = []
  let lines = 0
  for (const name of names.toSorted()) {
    if (lines >= wanted) break
    const file = path.join(root, name)
    if (!statSync(file).isFile()) continue
    const text = readFileSync(file, 'utf8')
    // Text that one of the entrants would skip as minified is left out, so that all do the same work.
    if (text.length > 50_000 && text.length / text.split('\n').length > 200) continue
    files.push(file)
    lines += text.split('\n').length
  }
  return { root, files, lines }
}
