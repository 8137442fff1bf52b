/**
 * Published packages, fetched with `npm pack` when they are needed.
 *
 * They are kept in the temporary folder of the system, never in the repository: it is other people's
 * code.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export const cacheFolder: string = path.join(os.tmpdir(), 'heddle-analyze-eval')

/** The folder with the unpacked package `name@version`. */
export async function fetchPackage(spec: string): Promise<string> {
  const folder = path.join(cacheFolder, spec.replaceAll('/', '+'))
  if (existsSync(folder)) return folder
  await mkdir(cacheFolder, { recursive: true })
  const work = await mkdtemp(path.join(cacheFolder, '.fetch-'))
  try {
    await run('npm', ['pack', spec, '--silent', '--pack-destination', work], { cwd: work })
    const archive = (await readdir(work)).find((name) => name.endsWith('.tgz'))
    if (archive === undefined) throw new Error(`npm pack ${spec} made no archive`)
    const unpacked = path.join(work, 'unpacked')
    await mkdir(unpacked)
    await run('tar', ['xzf', path.join(work, archive), '-C', unpacked])
    // Archives have one folder, mostly but not always called `package`.
    const [inner] = await readdir(unpacked)
    if (inner === undefined) throw new Error(`${spec} is empty`)
    await rename(path.join(unpacked, inner), folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error
    })
  } finally {
    await rm(work, { recursive: true, force: true })
  }
  return folder
}
