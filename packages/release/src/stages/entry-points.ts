/** The files that users of a package import, and whether Node can. */
import path from 'node:path'
import { isError } from '@heddle/core'
import { runCommand } from '@heddle/core/lowlevel'
import { isFields, type Fields } from '../manifest/local-range.ts'
import { isThere } from '../workspace/is-there.ts'

export interface EntryPoint {
  /** `name`, `name/part`. */
  readonly specifier: string
  readonly kinds: readonly (typeof loadKinds)[number][]
}

export const loadKinds = ['import', 'require'] as const

/** The names of files that Node can run. */
const program = /\.[cm]?js$/

/** Conditions that Node meets, beside the one that says how a file is loaded. */
const met = new Set(['node', 'node-addons', 'module-sync', 'default'])

/**
 * The entry points of an installed package that Node can run. Types, styles, data and patterns such as
 * `./features/*` are none.
 *
 * *Cancellation*: none; it looks for one file.
 */
export async function entryPointsOf(folder: string, manifest: Fields): Promise<EntryPoint[]> {
  const name = String(manifest['name'])
  const { exports, main } = manifest
  if (exports === undefined || exports === null) {
    const file = typeof main === 'string' ? undefined : path.join(folder, 'index.js')
    const hasFile = file === undefined || (await isThere(file))
    const isProgram = typeof main !== 'string' || isProgramName(main)
    return hasFile && isProgram ? [{ specifier: name, kinds: ['import'] }] : []
  }
  return exportsOf(exports).flatMap(([key, target]): EntryPoint[] => {
    const kinds = loadKinds.filter((kind) => programOf(target, kind) !== undefined)
    // A file behind several entry points is loaded once.
    const once = typeof target === 'string' ? kinds.slice(0, 1) : kinds
    return once.length === 0 ? [] : [{ specifier: path.posix.join(name, key), kinds: once }]
  })
}

/** A name without an ending stands for a program as well. */
export function isProgramName(main: string): boolean {
  return program.test(main) || !/\.\w+$/.test(main)
}

/** Targets of `exports` by subpath, `.` for the package itself. Patterns such as `./features/*` are left out. */
export function exportsOf(exports: unknown): [subpath: string, target: unknown][] {
  const isMap = isFields(exports) && Object.keys(exports).some((key) => key.startsWith('.'))
  const entries: [string, unknown][] = isMap ? Object.entries(exports) : [['.', exports]]
  return entries.filter(([key]) => !key.includes('*'))
}

/** The program that Node loads. Follows conditions in the order in which they stand, as Node does. */
export function programOf(target: unknown, kind: (typeof loadKinds)[number]): string | undefined {
  if (typeof target === 'string') return program.test(target) ? target : undefined
  if (Array.isArray(target)) {
    return target.map((each) => programOf(each, kind)).find((each) => each !== undefined)
  }
  if (!isFields(target)) return undefined
  for (const [condition, inner] of Object.entries(target)) {
    if (condition !== kind && !met.has(condition)) continue
    const found = programOf(inner, kind)
    if (found !== undefined) return found
    // Node takes the first condition that holds, even if it is not a program.
    if (typeof inner === 'string' || inner === null) return undefined
  }
  return undefined
}

/** Prints what failed as one line of JSON, then ends whatever the entry points have started. */
const script = `
import { createRequire } from 'node:module'
const require = createRequire(process.cwd() + '/')
const failures = []
for (const { specifier, kinds } of JSON.parse(process.argv[1])) {
  for (const kind of kinds) {
    try {
      if (kind === 'import') await import(specifier)
      else require(specifier)
    } catch (error) {
      const { code, message } = Object(error)
      failures.push({ specifier, kind, code, message: String(message ?? error) })
    }
  }
}
process.stdout.write('\\n' + JSON.stringify(failures) + '\\n', () => process.exit(0))
`

interface Failure {
  readonly specifier: string
  readonly kind: string
  readonly code?: string
  readonly message: string
}

/** Milliseconds that all entry points of a package have. */
const deadline = 120_000

/**
 * Imports entry points in a process of their own. Returns why one could not be; undefined when all could.
 * One that lacks a peer which its package calls optional counts as imported.
 *
 * *Cancellation*: ends the process.
 */
export async function importProblem(
  project: string,
  entries: readonly EntryPoint[],
  manifest: Fields,
  signal: AbortSignal,
): Promise<string | undefined> {
  const args = ['--input-type=module', '--eval', script, JSON.stringify(entries)]
  let output: string
  try {
    output = (await runCommand(process.execPath, args, { cwd: project, signal, deadline })).stdout
  } catch (error) {
    if (!isError(error, 'HDL_COMMAND_FAILED')) throw error
    return `importing it ended the process (${error.details.problem}): ${error.details.said.slice(-500)}`
  }
  const last = output.trimEnd().split('\n').at(-1) ?? ''
  const failures = parsed(last)
  if (failures === undefined) return 'importing it ended the process'
  const failure = failures.find((each) => !lacksOptionalPeer(each, manifest))
  if (failure === undefined) return undefined
  const { specifier, kind, message } = failure
  return `${kind === 'import' ? 'import' : 'require'} of "${specifier}" failed: ${message.split('\n')[0]}`
}

function parsed(line: string): Failure[] | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return Array.isArray(value) ? (value as Failure[]) : undefined
  } catch {
    return undefined
  }
}

function lacksOptionalPeer({ code, message }: Failure, manifest: Fields): boolean {
  if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') return false
  const [, missing = ''] = /Cannot find (?:package|module) '([^']+)'/.exec(message) ?? []
  const [, name = ''] = /^((?:@[^/]+\/)?[^/]+)/.exec(missing) ?? []
  const { peerDependenciesMeta: meta } = manifest
  const peer = isFields(meta) ? meta[name] : undefined
  return isFields(peer) && peer['optional'] === true
}
