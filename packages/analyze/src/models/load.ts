/** Reads model files: those of this package, and those that users name. */
import { glob, readFile } from 'node:fs/promises'
import path from 'node:path'
import { HeddleError } from '@heddle/core'
import { describe } from '@heddle/core/lowlevel'
import { Catalogue } from './catalogue.ts'
import { checkModelFile } from './check-model.ts'
import type { ModelFile } from './model.ts'

const ownFolder = path.resolve(import.meta.dirname, '../../models')

let own: Promise<readonly ModelFile[]> | undefined

/**
 * The catalogue, with the files of a user (absolute paths) before our own.
 *
 * *Cancellation*: none; it reads a few small files. *Fairness*: calls share the reading of our own.
 *
 * @throws `HDL_MODEL_INVALID`, `HDL_MODEL_UNREADABLE`
 */
export async function loadCatalogue(userFiles: readonly string[] = []): Promise<Catalogue> {
  own ??= readOwn()
  const users = await Promise.all(userFiles.map(readModelFile))
  return new Catalogue([...users.toReversed(), ...(await own)])
}

async function readOwn(): Promise<readonly ModelFile[]> {
  const files: string[] = []
  for await (const name of glob('*.json', { cwd: ownFolder }))
    files.push(path.join(ownFolder, name))
  return Promise.all(files.toSorted().map(readModelFile))
}

async function readModelFile(file: string): Promise<ModelFile> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    const details = { file, cause: describe(error) }
    throw new HeddleError('HDL_MODEL_UNREADABLE', details, { cause: error })
  }
  return checkModelFile(file, text)
}
