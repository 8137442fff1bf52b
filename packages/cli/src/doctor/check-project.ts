/** The checks of `heddle doctor` in its folder, and around the process. */
import { access, constants, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { formatError } from '../text/format.ts'
import type { Check } from './check.ts'

/** The oldest TypeScript that the declarations of our packages are tested with. */
const leastTypescript = [5, 9] as const

/** What reads a manifest: the text, or undefined when there is no such file. */
export type ReadText = (file: string) => Promise<string | undefined>

const readText: ReadText = (file) =>
  readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw error
  })

/** Whether files of this folder are ES modules: the nearest package.json says it. */
export async function checkModuleType(folder: string, read: ReadText = readText): Promise<Check> {
  const name = 'modules'
  for (let at = path.resolve(folder); ; at = path.dirname(at)) {
    const file = path.join(at, 'package.json')
    try {
      const text = await read(file)
      if (text !== undefined) {
        const { type } = JSON.parse(text) as { type?: string }
        const found =
          type === 'module' ? 'ES modules' : 'CommonJS: jobs in threads name `__filename`'
        return { name, ok: true, found: `${found} (${file})` }
      }
    } catch (error) {
      const help = 'Repair the file: Node cannot load modules below it.'
      return { name, ok: false, found: `${file}: ${formatError(error)}`, help }
    }
    if (at === path.dirname(at)) {
      const found = 'no package.json here or above: Node recognizes ES modules by their syntax'
      return { name, ok: true, found }
    }
  }
}

/** The version of an installed package, as seen from a folder; undefined when it is not installed. */
export type FindVersion = (name: string, folder: string) => string | undefined

const findVersion: FindVersion = (name, folder) => {
  try {
    const { version } = createRequire(path.join(folder, 'x.js'))(`${name}/package.json`) as {
      version: string
    }
    return version
  } catch {
    return undefined
  }
}

export function checkTypescript(folder: string, find: FindVersion = findVersion): Check {
  const name = 'typescript'
  const version = find('typescript', folder)
  if (version === undefined) {
    return { name, ok: true, found: 'not installed: Node strips types, and does not check them' }
  }
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const ok =
    major > leastTypescript[0] || (major === leastTypescript[0] && minor >= leastTypescript[1])
  const help = `Install TypeScript ${leastTypescript.join('.')} or newer: our declarations are tested with it.`
  return { name, ok, found: version, ...(!ok && { help }) }
}

/** Journals, caches and stores are made in `.heddle` unless another place is named. */
export async function checkFolder(folder: string): Promise<Check> {
  const name = 'folder'
  for (const place of [path.join(folder, '.heddle'), folder]) {
    try {
      await access(place, constants.W_OK)
      return { name, ok: true, found: `${place} can be written` }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue
      const help =
        'Give this user the right to write there, or name another place with --journal or --store.'
      return { name, ok: false, found: formatError(error), help }
    }
  }
  return { name, ok: false, found: `${folder} does not exist`, help: 'Make the folder.' }
}

/** Before this moment the clock has not been set: Node 22.18 is of July 2025. */
const earliest = Date.UTC(2025, 6, 31)

export function checkClock(now: number): Check {
  const ok = now >= earliest
  const found = new Date(now).toISOString()
  const help = 'Set the clock by NTP: schedules, leases and records go by it.'
  return { name: 'clock', ok, found, ...(!ok && { help }) }
}

/** A server needs a file for each connection, and a run for each program that its jobs start. */
const leastFiles = 1024

/** `files` is the number of files that the process may open; undefined where the system does not report it. */
export function checkLimits(files: number | undefined, memory: number): Check {
  const ok = files === undefined || files >= leastFiles
  const open = files === undefined ? 'any number of' : String(files)
  const found = `${open} open files, ${Math.floor(memory / 2 ** 20)} MiB of memory free`
  const help = `Raise the limit to ${leastFiles} or more: \`ulimit -n\`, or LimitNOFILE= of systemd.`
  return { name: 'limits', ok, found, ...(!ok && { help }) }
}

/** How many files this process may open. */
export function limitOfOpenFiles(): number | undefined {
  const report = process.report.getReport() as {
    readonly userLimits?: { readonly open_files?: { readonly soft: number | 'unlimited' } }
  }
  const soft = report.userLimits?.open_files?.soft
  return typeof soft === 'number' ? soft : undefined
}
