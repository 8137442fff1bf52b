/** The part of a tsconfig that decides where imports lead, with the configs it extends. */
import path from 'node:path'
import { asObject, asStrings, readJsonObject } from './read-json.ts'
import type { JsonObject } from './read-json.ts'

export interface PathMapping {
  /** `@app/*`, at most one `*`. */
  readonly pattern: string
  /** Absolute, with the `*` of the pattern. */
  readonly targets: readonly string[]
}

export interface ResolutionConfig {
  readonly paths: readonly PathMapping[]
  /** Absolute: bare names are looked for here, too. */
  readonly baseUrl?: string
  readonly customConditions: readonly string[]
}

const empty: ResolutionConfig = { paths: [], customConditions: [] }

/** Reads a tsconfig or jsconfig. A broken one, or one that extends itself, says nothing. */
export function readTsconfig(
  file: string,
  seen: ReadonlySet<string> = new Set(),
): ResolutionConfig {
  const json = seen.has(file) ? undefined : readJsonObject(file)
  if (json === undefined) return empty
  const inherited = inheritedBy(json, file, new Set([...seen, file]))
  const options = asObject(json['compilerOptions']) ?? {}
  const folder = path.dirname(file)
  const baseUrl =
    typeof options['baseUrl'] === 'string'
      ? path.resolve(folder, options['baseUrl'])
      : inherited.baseUrl
  const own = asObject(options['paths'])
  return {
    paths: own === undefined ? inherited.paths : mappings(own, baseUrl ?? folder),
    ...(baseUrl === undefined ? {} : { baseUrl }),
    customConditions:
      options['customConditions'] === undefined
        ? inherited.customConditions
        : asStrings(options['customConditions']),
  }
}

function inheritedBy(json: JsonObject, file: string, seen: ReadonlySet<string>): ResolutionConfig {
  const { extends: names } = json
  const bases = typeof names === 'string' ? [names] : asStrings(names)
  return bases.reduce((config, name) => {
    const base = baseConfig(name, path.dirname(file))
    const next = base === undefined ? empty : readTsconfig(base, seen)
    const baseUrl = next.baseUrl ?? config.baseUrl
    return {
      paths: next.paths.length > 0 ? next.paths : config.paths,
      ...(baseUrl === undefined ? {} : { baseUrl }),
      customConditions:
        next.customConditions.length > 0 ? next.customConditions : config.customConditions,
    }
  }, empty)
}

/** `./base`, `../tsconfig.base.json`, `@tsconfig/node24`, `@tsconfig/node24/tsconfig.json`. */
function baseConfig(name: string, folder: string): string | undefined {
  if (/^\.{0,2}\//.test(name) || path.isAbsolute(name)) {
    const file = path.resolve(folder, name)
    return [file, `${file}.json`].find((candidate) => readJsonObject(candidate) !== undefined)
  }
  for (let at = folder; ; at = path.dirname(at)) {
    const found = path.join(at, 'node_modules', name)
    const candidates = [found, `${found}.json`, path.join(found, 'tsconfig.json')]
    const hit = candidates.find((candidate) => readJsonObject(candidate) !== undefined)
    if (hit !== undefined || path.dirname(at) === at) return hit
  }
}

function mappings(paths: JsonObject, base: string): readonly PathMapping[] {
  return Object.entries(paths).map(([pattern, targets]) => ({
    pattern,
    targets: asStrings(targets).map((target) => path.resolve(base, target)),
  }))
}
