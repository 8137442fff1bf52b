/**
 * The write-ahead journal of changed files: the old content, on disk before the file is changed.
 *
 *   <id>.original   the original bytes
 *   <id>.json       the intent; written after the bytes, removed before them
 *   kept/           originals of files that another program edited meanwhile
 */
import { createHash, type Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, readFile, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { HeddleError } from '../errors.ts'
import type { Kernel } from '../kernel/kernel.ts'
import { writeAtomic } from './atomic-write.ts'
import {
  codeOf,
  fileError,
  ifExists,
  replaceFile,
  syncFolder,
  type FileAttributes,
} from './replace.ts'

export interface Intent extends FileAttributes {
  readonly version: 1
  /** The changed file, without symbolic links. */
  readonly path: string
  /** The file into which its next content is written before it takes the file's place. */
  readonly temp: string
  /** SHA-256 of the file before and after the change. */
  readonly original: string
  readonly changed: string
  /** The process that changed it, and the time, for people. */
  readonly pid: number
  readonly at: string
  /** The file is original again; only the traces are left. */
  readonly restored?: true
}

/** Where the parts of one journal entry are. */
export interface IntentFiles {
  readonly id: string
  readonly intent: string
  readonly original: string
  readonly kept: string
}

const intentEnding = '.json'
const originalEnding = '.original'

export function intentFiles(folder: string, id: string, target: string): IntentFiles {
  return {
    id,
    intent: path.join(folder, `${id}${intentEnding}`),
    original: path.join(folder, `${id}${originalEnding}`),
    kept: path.join(folder, 'kept', `${id}-${path.basename(target)}`),
  }
}

export function idOfIntent(name: string): string | undefined {
  return name.endsWith(intentEnding) ? name.slice(0, -intentEnding.length) : undefined
}

export function idOfOriginal(name: string): string | undefined {
  return name.endsWith(originalEnding) ? name.slice(0, -originalEnding.length) : undefined
}

export const newHash = (): Hash => createHash('sha256')

/** In pieces, so that a large file does not block the loop. Undefined when there is no such file. */
export function hashOfFile(file: string): Promise<string | undefined> {
  const read = async (): Promise<string> => {
    const hash = newHash()
    for await (const piece of createReadStream(file)) hash.update(piece as Buffer)
    return hash.digest('hex')
  }
  return ifExists(read())
}

/** Computed by Node's own threads. */
export async function hashOfBytes(bytes: Uint8Array): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', bytes)
  return Buffer.from(digest).toString('hex')
}

export function serialize(intent: Intent): string {
  return `${JSON.stringify(intent, undefined, 2)}\n`
}

export function writeIntent(files: IntentFiles, intent: Intent, kernel: Kernel): Promise<void> {
  return writeAtomic(files.intent, serialize(intent), { kernel })
}

function isIntent(value: unknown): value is Intent {
  const found = value as Partial<Record<keyof Intent, unknown>> | null
  return (
    typeof found === 'object' &&
    found?.version === 1 &&
    typeof found.path === 'string' &&
    typeof found.temp === 'string' &&
    typeof found.original === 'string' &&
    typeof found.changed === 'string' &&
    typeof found.mode === 'number' &&
    typeof found.uid === 'number' &&
    typeof found.gid === 'number'
  )
}

/** @throws `HDL_STORE_FAILED` when it is not one of ours, or of a newer version. */
export async function readIntent(file: string): Promise<Intent> {
  let found: unknown
  try {
    found = JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    throw fileError(file, 'be read', error)
  }
  if (isIntent(found)) return found
  const cause = 'it does not describe a changed file in a form that this version knows'
  throw new HeddleError('HDL_STORE_FAILED', { store: file, action: 'be read', cause })
}

/** Removes the traces; the intent first, because originals without one mean that nothing is to be done. */
export async function dropIntent(files: IntentFiles, intent: Intent): Promise<void> {
  await rm(intent.temp, { force: true })
  await rm(files.intent, { force: true })
  await syncFolder(path.dirname(files.intent))
  await rm(files.original, { force: true })
}

export function conflict(files: IntentFiles, intent: Intent): HeddleError<'HDL_RESTORE_CONFLICT'> {
  return new HeddleError('HDL_RESTORE_CONFLICT', { path: intent.path, kept: files.kept })
}

/** Leaves the edited file alone and keeps the original where the next recovery does not touch it. */
async function keepBoth(files: IntentFiles, intent: Intent): Promise<HeddleError> {
  await mkdir(path.dirname(files.kept), { recursive: true })
  try {
    await rename(files.original, files.kept)
  } catch (error) {
    // The file was moved before a crash.
    if (codeOf(error) !== 'ENOENT') throw error
  }
  await syncFolder(path.dirname(files.kept))
  await dropIntent(files, intent)
  return conflict(files, intent)
}

async function checkHash(file: string, intent: Intent): Promise<void> {
  const found = await hashOfFile(file)
  if (found === intent.original) return
  const cause = `the SHA-256 of ${file} is ${found ?? 'none'}, expected ${intent.original}`
  throw new HeddleError('HDL_STORE_FAILED', { store: intent.path, action: 'be restored', cause })
}

/** `untouched`: the file had its original content already. */
export type RestoreOutcome = 'restored' | 'untouched'

/**
 * Gives a file its original content back, byte by byte, unless another program has edited it. It can
 * be repeated after a crash at any point.
 *
 * The traces stay; see {@link dropIntent}.
 *
 * @throws `HDL_RESTORE_CONFLICT`; both versions and no other traces are left.
 */
export async function restoreFile(files: IntentFiles, intent: Intent): Promise<RestoreOutcome> {
  const current = await hashOfFile(intent.path)
  if (current === intent.original) return 'untouched'
  if (current !== intent.changed) throw await keepBoth(files, intent)
  await checkHash(files.original, intent)
  // Left by a change or a recovery that was killed: it would be in the way.
  await rm(intent.temp, { force: true })
  const { path: target, temp } = intent
  await replaceFile({ target, temp, attributes: intent, content: { file: files.original } })
  await checkHash(target, intent)
  return 'restored'
}
