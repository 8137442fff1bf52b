/**
 * Writes a first project.
 *
 *  I1  A file that is there already is never changed, except `package.json`, to which missing fields are added:
 *      no value that it has is replaced.
 *  I2  Everything that is written can be run at once: `npm install`, `npm start`, `npm test`.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { quoteWord } from '@heddle/core/lowlevel'
import { readVersion } from '../own-version.ts'
import { filesOf, manifestOf, type Manifest, type ProjectOptions } from './templates.ts'

/** True when the project was made. Otherwise the reason is printed. */
export async function init(
  folder: string,
  { isService, json }: Pick<ProjectOptions, 'isService'> & { readonly json: boolean },
): Promise<boolean> {
  const root = path.resolve(folder)
  const options = { name: packageName(root), version: await readVersion(), isService }
  const written: string[] = []
  const kept: string[] = []
  try {
    await mkdir(root, { recursive: true })
    const isNew = await mergeManifest(path.join(root, 'package.json'), manifestOf(options))
    ;(isNew ? written : kept).push('package.json')
    for (const [file, text] of Object.entries(filesOf(options))) {
      ;((await writeNew(path.join(root, file), text)) ? written : kept).push(file)
    }
  } catch (error) {
    const { message } = error as Error
    process.stderr.write(`heddle: ${root} cannot be made a project: ${message}\n`)
    if (json)
      process.stdout.write(`${JSON.stringify({ ok: false, folder: root, error: { message } })}\n`)
    return false
  }
  if (json) {
    process.stdout.write(`${JSON.stringify({ ok: true, folder: root, written, kept })}\n`)
  } else process.stdout.write(report(folder, written, kept, isService))
  return true
}

/** Adds missing entries. True when there were any. */
async function mergeManifest(file: string, wanted: Manifest): Promise<boolean> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined) return writeNew(file, `${JSON.stringify(wanted, null, 2)}\n`)
  const current = parseManifest(file, text)
  const merged: Record<string, unknown> = { ...wanted, ...current }
  for (const group of ['scripts', 'dependencies', 'devDependencies'] as const) {
    merged[group] = { ...wanted[group], ...(current[group] as object | undefined) }
  }
  const after = `${JSON.stringify(merged, null, 2)}\n`
  if (JSON.stringify(JSON.parse(text)) === JSON.stringify(merged)) return false
  await writeFile(file, after)
  return true
}

function parseManifest(file: string, text: string): Record<string, unknown> {
  try {
    const manifest: unknown = JSON.parse(text.replace(/^\uFEFF/, ''))
    if (typeof manifest === 'object' && manifest !== null && !Array.isArray(manifest)) {
      return manifest as Record<string, unknown>
    }
  } catch (error) {
    throw new Error(`${file} is not valid JSON: ${(error as Error).message}`, { cause: error })
  }
  throw new Error(`${file} is not an object of JSON`)
}

/** False when the file is there already. */
async function writeNew(file: string, text: string): Promise<boolean> {
  await mkdir(path.dirname(file), { recursive: true })
  try {
    await writeFile(file, text, { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** The name of the folder, as a package may have it. */
function packageName(root: string): string {
  const name = path
    .basename(root)
    .toLowerCase()
    .replaceAll(/[^\da-z._-]+/g, '-')
    .replaceAll(/^[._-]+|[._-]+$/g, '')
  return name === '' ? 'my-work' : name
}

function report(
  folder: string,
  written: readonly string[],
  kept: readonly string[],
  isService: boolean,
): string {
  const lines = [
    ...written.map((file) => `  + ${file}`),
    ...kept.map((file) => `  = ${file} (kept as it is)`),
    '',
    'Next:',
    ...(folder === '.' ? [] : [`  cd ${quoteWord(folder)}`]),
    '  npm install',
    '  npm start            # runs the graph, with a live view',
    '  npm test             # the jobs, on a virtual clock',
    ...(isService ? ['  npm run serve        # the jobs over HTTP, and the dashboard'] : []),
  ]
  return `${lines.join('\n')}\n`
}
