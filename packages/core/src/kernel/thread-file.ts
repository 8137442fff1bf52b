/**
 * The file that a thread starts from.
 *
 * ```
 *   as files of its own ▶ a file for each role, in this package
 *   in a bundle         ▶ heddle-thread.js (.mjs, .cjs) beside the bundle, or above a folder of chunks
 *                         otherwise `@heddle/core/thread`, as installed for the bundle
 *                         otherwise HDL_THREAD_FILE
 * ```
 *
 * The last two are one file for all roles (src/thread.ts), which reads its role from the data of the thread.
 */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { HeddleError } from '../errors.ts'
import { addressInPackage, bundleUrl, extension } from './own-file.ts'

/** The roles of this package's threads, with the file of each. */
export const threadRoles = {
  jobs: 'threads/entry',
  watchdog: 'watch/watchdog-thread',
  journalWriter: 'journal/sqlite/writer-thread',
  journalReader: 'journal/sqlite/reader-thread',
  diskCache: 'cache/tiers/disk/disk-thread',
} as const

export type ThreadRole = keyof typeof threadRoles

/** What {@link bundledThreadFile} asks about the disk and the installed packages. */
export interface FileLookup {
  exists(file: string): boolean
  /** @throws when the package is not installed there. */
  resolve(name: string, from: string): string
}

const names = ['heddle-thread.js', 'heddle-thread.mjs', 'heddle-thread.cjs']

const disk: FileLookup = {
  // heddle-ignore B101 -- up to six names, once for each role, and only in a bundle
  // oxlint-disable-next-line node/no-sync -- see above; threads are made without waiting
  exists: (file) => existsSync(file),
  resolve: (name, from) => createRequire(from).resolve(name),
}

/** Every call of the thread pool asks for its file: parsing an address takes longer than the rest of a short call. */
const found = new Map<ThreadRole, URL>()

/** @throws `HDL_THREAD_FILE` in a bundle that has no such file. */
export function threadFile(role: ThreadRole): URL {
  const known = found.get(role)
  if (known !== undefined) return known
  const file =
    bundleUrl === undefined
      ? new URL(addressInPackage(threadRoles[role] + extension))
      : bundledThreadFile(bundleUrl)
  found.set(role, file)
  return file
}

/** The file for all roles that belongs to a bundle. */
export function bundledThreadFile(bundle: string, lookup: FileLookup = disk): URL {
  const folder = path.dirname(fileURLToPath(bundle))
  const file = [folder, path.dirname(folder)]
    .flatMap((each) => names.map((name) => path.join(each, name)))
    .find((each) => lookup.exists(each))
  if (file !== undefined) return pathToFileURL(file)
  try {
    return pathToFileURL(lookup.resolve('@heddle/core/thread', bundle))
  } catch (error) {
    throw new HeddleError('HDL_THREAD_FILE', { bundle: fileURLToPath(bundle) }, { cause: error })
  }
}
