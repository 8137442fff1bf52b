/** Replacing a file so that every reader sees the old one or the new one, whole, whatever happens. */
import { createReadStream } from 'node:fs'
import { open, realpath, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import path from 'node:path'
import { HeddleError, describe } from '../errors.ts'
import type { Random } from '../kernel/random.ts'

/** The attributes that a replaced file keeps besides its name. */
export interface FileAttributes {
  readonly mode: number
  readonly uid: number
  readonly gid: number
}

export function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | undefined)?.code
}

/** The error of this package for one of the file system. */
export function fileError(file: string, action: string, error: unknown): HeddleError {
  if (error instanceof HeddleError) return error
  return new HeddleError(
    'HDL_STORE_FAILED',
    { store: file, action, cause: describe(error) },
    { cause: error },
  )
}

/** Undefined when there is no such file. */
export async function ifExists<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** The file behind a name: a symbolic link stays one when its target is replaced. */
export async function resolveTarget(file: string): Promise<string> {
  return (await ifExists(realpath(file))) ?? path.resolve(file)
}

export async function attributesOf(file: string): Promise<FileAttributes | undefined> {
  const found = await ifExists(stat(file))
  // The upper bits say what kind of file it is.
  return found && { mode: found.mode & 0o7777, uid: found.uid, gid: found.gid }
}

/** A name in the same folder, because a rename is atomic only inside one file system. */
export function tempBeside(target: string, random: Random): string {
  const unique = Math.floor(random.next() * 2 ** 52).toString(36)
  return path.join(path.dirname(target), `.${path.basename(target)}.${process.pid}-${unique}.tmp`)
}

/** Makes the names in a folder durable: the rename itself, not only the renamed file. */
export async function syncFolder(folder: string): Promise<void> {
  // Windows cannot open folders and needs no such step.
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function applyAttributes(handle: FileHandle, attributes: FileAttributes): Promise<void> {
  const made = await handle.stat()
  if (made.uid !== attributes.uid || made.gid !== attributes.gid) {
    try {
      await handle.chown(attributes.uid, attributes.gid)
    } catch (error) {
      // Only the superuser may give files away; a file of any other user stays theirs.
      if (codeOf(error) !== 'EPERM') throw error
    }
  }
  // Last, because giving a file away may clear bits of its mode.
  if ((made.mode & 0o7777) !== attributes.mode) await handle.chmod(attributes.mode)
}

export interface Replacement {
  readonly target: string
  readonly temp: string
  /** The attributes; those of a new file when absent. */
  readonly attributes: FileAttributes | undefined
  /** Bytes, or another file to copy them from. */
  readonly content: string | Uint8Array | { readonly file: string }
}

/**
 * Writes a temporary file, makes it durable and puts it in the target's place.
 * When it fails, the target is as it was and the temporary file is gone.
 */
export async function replaceFile(replacement: Replacement): Promise<void> {
  const { target, temp, attributes, content } = replacement
  try {
    // Readable by no other user until it has the mode of the file that it replaces.
    const handle = await open(temp, 'wx', attributes === undefined ? 0o666 : 0o600)
    try {
      const isPlain = typeof content === 'string' || content instanceof Uint8Array
      // The types of Node 22 leave out that it takes a stream.
      await handle.writeFile(isPlain ? content : (createReadStream(content.file) as never))
      if (attributes !== undefined) await applyAttributes(handle, attributes)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(temp, target)
  } catch (error) {
    await rm(temp, { force: true }).catch(() => undefined)
    throw error
  }
  await syncFolder(path.dirname(target))
}
