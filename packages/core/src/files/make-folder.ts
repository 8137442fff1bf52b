/* oxlint-disable node/no-sync -- makeFolderNow() is for threads, where waiting is what they are for */
/**
 * Makes a folder and those above it.
 *
 * Instead of `mkdir` with `recursive`: where a file system answers ENOENT for a new folder in one that exists, as /proc
 * does, Node makes the folder above again without end.
 */
import { mkdirSync, statSync } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { codeOf } from './replace.ts'

/** *Cancellation*: none. @throws the error of the system. */
export async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder)
  } catch (error) {
    if (!isMissing(folder, error)) {
      if (await stat(folder).then(isFolder, () => false)) return
      throw error
    }
    await makeFolder(path.dirname(folder))
    await mkdir(folder).catch((again: unknown) => {
      if (codeOf(again) !== 'EEXIST') throw again
    })
  }
}

/** @throws the error of the system. */
export function makeFolderNow(folder: string): void {
  try {
    mkdirSync(folder)
  } catch (error) {
    if (!isMissing(folder, error)) {
      if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return
      throw error
    }
    makeFolderNow(path.dirname(folder))
    try {
      mkdirSync(folder)
    } catch (again) {
      if (codeOf(again) !== 'EEXIST') throw again
    }
  }
}

const isFolder = (found: { isDirectory(): boolean }): boolean => found.isDirectory()

/** Whether the folder above may be missing. The topmost one has none. */
function isMissing(folder: string, error: unknown): boolean {
  return codeOf(error) === 'ENOENT' && path.dirname(folder) !== folder
}
