/** `heddle.release.ts` or `heddle.release.json` in the root of a workspace: the settings of every release. */
import { readFile } from 'node:fs/promises'
import { registerHooks } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { suggest } from '@heddle/core/lowlevel'
import { tagFormatProblem } from '../git/tag-format.ts'
import { isFields } from '../manifest/local-range.ts'
import { ecosystems, planSources, type Ecosystem, type PlanSource } from '../model.ts'
import { isThere } from '../workspace/is-there.ts'
import { Problems } from '../workspace/workspace-problems.ts'

export interface ReleaseConfig {
  /** Where versions come from: see the guide. */
  readonly from?: PlanSource
  /** Only packages of this one, where the same names are in both. */
  readonly ecosystem?: Ecosystem
  /** Patterns of names: only these packages, and their dependencies. */
  readonly include?: readonly string[]
  /** Patterns of names that are never released. */
  readonly exclude?: readonly string[]
  /** Lists of patterns: the packages of each list always get the same version. */
  readonly groups?: readonly (readonly string[])[]
  /**
   * Keyed by package: other packages that must be on the registry first, although no manifest says
   * so.
   */
  readonly order?: Readonly<Record<string, readonly string[]>>
  /** How Git tags are called: `{name}@{version}`. */
  readonly tagFormat?: string
  /** Patterns of branches that are released from. */
  readonly branches?: readonly string[]
  /** The dist-tag by pattern of branches: `{ main: 'latest', '1.x': 'v1' }`. Prereleases keep their own. */
  readonly distTags?: Readonly<Record<string, string>>
  /** The registry by scope; `npm` and `pypi` stand for all other packages. */
  readonly registries?: Readonly<Record<string, string>>
  /** The script that builds a package; false builds nothing. */
  readonly build?: string | false
  /** False installs nothing. `installOnly`: these packages cannot be imported by Node. */
  readonly smoke?: boolean | { readonly installOnly?: readonly string[] }
  /** The remote that Git tags are sent to; true is `origin`. */
  readonly push?: boolean | string
  /** The remote of the lease between clones; false takes none. */
  readonly lease?: string | false
  /** Where releases with notes are made. */
  readonly notes?: 'github' | 'gitlab' | false
}

/**
 * Gives a config its type.
 *
 * @example
 * export default defineRelease({ branches: ['main'], groups: [['@acme/*']] })
 */
export function defineRelease(config: ReleaseConfig): ReleaseConfig {
  return config
}

const fileNames = ['heddle.release.ts', 'heddle.release.json'] as const

type Check = (value: unknown) => boolean

const isText: Check = (value) => typeof value === 'string' && value !== ''
const isTexts: Check = (value) => Array.isArray(value) && value.every(isText)
const oneOf =
  (...allowed: readonly unknown[]): Check =>
  (value) =>
    allowed.includes(value)
const recordOf =
  (check: Check): Check =>
  (value) =>
    isFields(value) && Object.values(value).every(check)

/** The form of each field, and its description. */
const fields: Readonly<Record<keyof ReleaseConfig, readonly [Check, string]>> = {
  from: [oneOf(...planSources), `one of ${planSources.join(', ')}`],
  ecosystem: [oneOf(...ecosystems), `one of ${ecosystems.join(', ')}`],
  include: [isTexts, 'a list of patterns of names'],
  exclude: [isTexts, 'a list of patterns of names'],
  groups: [
    (value) => Array.isArray(value) && value.every(isTexts),
    'a list of lists of patterns of names',
  ],
  order: [recordOf(isTexts), 'lists of names by the name of a package'],
  tagFormat: [
    (value) => typeof value === 'string' && tagFormatProblem(value) === undefined,
    'a text with {version} that Git accepts as a tag, such as "{name}@{version}"',
  ],
  branches: [isTexts, 'a list of patterns of branches'],
  distTags: [recordOf(isText), 'dist-tags by patterns of branches'],
  registries: [recordOf(isText), 'addresses by scope, "npm" or "pypi"'],
  build: [(value) => value === false || isText(value), 'the name of a script, or false'],
  smoke: [
    (value) =>
      typeof value === 'boolean' ||
      (isFields(value) &&
        Object.keys(value).every((key) => key === 'installOnly') &&
        (value['installOnly'] === undefined || isTexts(value['installOnly']))),
    'true, false, or { installOnly: [patterns] }',
  ],
  push: [(value) => typeof value === 'boolean' || isText(value), 'true, false or a remote'],
  lease: [(value) => value === false || isText(value), 'a remote, or false'],
  notes: [oneOf('github', 'gitlab', false), 'github, gitlab or false'],
}

/**
 * Reads the config of a workspace; empty when it has none.
 *
 * *Cancellation*: none; it reads one small file. A config in TypeScript is run.
 * @throws `HDL_WORKSPACE_INVALID` with everything that is wrong in it.
 */
export async function readReleaseConfig(root: string): Promise<ReleaseConfig> {
  const files: string[] = []
  for (const name of fileNames) {
    const file = path.join(root, name)
    if (await isThere(file)) files.push(file)
  }
  const [file, second] = files
  if (file === undefined) return {}
  const problems = new Problems(root)
  if (second !== undefined) {
    const problem = `there is also ${path.basename(second)}`
    problems.add({ file, problem, todo: 'Keep one of the two.' })
  }
  const config = await contentOf(file, problems)
  problems.throwIfAny()
  checkFields(file, config, problems)
  problems.throwIfAny()
  return config as ReleaseConfig
}

async function contentOf(file: string, problems: Problems): Promise<unknown> {
  try {
    if (file.endsWith('.json')) return JSON.parse(await readFile(file, 'utf8'))
    const { default: config } = await importModule(pathToFileURL(file).href)
    return config
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    problems.add({ file, problem: `it cannot be read: ${message}`, todo: 'Correct the file.' })
    return undefined
  }
}

/**
 * Imports a config as the module that it is, whatever the `type` of the root says: without a `type`, Node would guess
 * and warn about it at each command; with "commonjs", it would refuse `export`.
 */
async function importModule(url: string): Promise<{ readonly default?: unknown }> {
  const hooks = registerHooks({
    resolve: (specifier, context, next) => {
      const resolved = next(specifier, context)
      return resolved.url === url ? { ...resolved, format: 'module-typescript' } : resolved
    },
  })
  try {
    return (await import(url)) as { readonly default?: unknown }
  } finally {
    hooks.deregister()
  }
}

function checkFields(file: string, config: unknown, problems: Problems): void {
  if (!isFields(config)) {
    const problem = file.endsWith('.ts')
      ? 'its default export is not an object'
      : 'it is not an object'
    problems.add({ file, problem, todo: 'Write the settings into one object.' })
    return
  }
  const names = Object.keys(fields)
  for (const [name, value] of Object.entries(config)) {
    // `__proto__` and the like are not settings.
    const known = Object.hasOwn(fields, name)
      ? (fields as Readonly<Record<string, readonly [Check, string]>>)[name]
      : undefined
    if (known === undefined) {
      // For editors.
      if (name === '$schema') continue
      const similar = suggest(name, names)
      const todo =
        similar === undefined ? `There are ${names.join(', ')}.` : `Did you mean "${similar}"?`
      problems.add({ file, problem: `there is no setting "${name}"`, todo })
    } else if (value !== undefined && !known[0](value)) {
      const problem = `\`${name}\` is ${JSON.stringify(value)}`
      problems.add({ file, problem, todo: `Write ${known[1]}.` })
    }
  }
}
