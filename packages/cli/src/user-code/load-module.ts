/** Imports a module that the user names, with errors that say what to change and where. */
import { readdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { HeddleError } from '@heddle/core'
import { suggest } from '@heddle/core/lowlevel'
import { formatError } from '../text/format.ts'
import { locate } from '../output/error-location.ts'

const extensions = ['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs']

/**
 * What a module exports.
 *
 * *Cancellation*: none; an import cannot be stopped.
 * @throws `HDL_NO_MODULE`, `HDL_LOAD_FAILED`.
 */
export async function loadModule(file: string): Promise<Readonly<Record<string, unknown>>> {
  const resolved = path.resolve(file)
  await checkFile(file, resolved)
  return attempt(
    file,
    'be imported',
    () => import(pathToFileURL(resolved).href) as Promise<Record<string, unknown>>,
  )
}

async function checkFile(file: string, resolved: string): Promise<void> {
  const found = await stat(resolved).catch((error: NodeJS.ErrnoException) => error)
  if (found instanceof Error) {
    const isMissing = found.code === 'ENOENT' || found.code === 'ENOTDIR'
    const problem = isMissing ? 'does not exist' : `cannot be read: ${found.message}`
    throw new HeddleError('HDL_NO_MODULE', { file, problem, suggestion: await similar(file) })
  }
  if (found.isDirectory()) throw new HeddleError('HDL_NO_MODULE', { file, problem: 'is a folder' })
  const extension = path.extname(file)
  if (!extensions.includes(extension)) {
    const problem = `is not a module that Node can import (${extensions.join(', ')})`
    throw new HeddleError('HDL_NO_MODULE', { file, problem })
  }
}

/** A module beside the missing one whose name differs in its case, its extension or a few letters. */
async function similar(file: string): Promise<string | undefined> {
  const stem = (name: string): string => path.parse(name).name.toLowerCase()
  const names = await readdir(path.dirname(path.resolve(file))).catch(() => [])
  const modules = names.filter((name) => extensions.includes(path.extname(name)))
  const found =
    modules.find((name) => stem(name) === stem(file)) ?? suggest(path.basename(file), modules)
  return found === undefined ? undefined : path.join(path.dirname(file), found)
}

/** Adds the purpose and the place to an error in a module. @throws `HDL_LOAD_FAILED`. */
export async function attempt<T>(file: string, action: string, work: () => T): Promise<Awaited<T>> {
  try {
    return await work()
  } catch (error) {
    const cause = formatError(error)
    const at = locate(error)?.at
    throw new HeddleError('HDL_LOAD_FAILED', { file, action, cause, at }, { cause: error })
  }
}
