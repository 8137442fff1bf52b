/** The packages as users get them: built, packed, and published to a registry on this machine. */
import { createHash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isError } from '@heddle/core'
import { holdLock, type HeldLock } from '@heddle/core/lowlevel'
import { startVerdaccio, type Verdaccio } from '@heddle/release/testing'
import { publicPackages, root, runNode, runNpm, runTool, type ToolResult } from './tool.ts'

/** Where packages come from that are not ours. */
export const publicRegistry = 'https://registry.npmjs.org'

const cache = path.join(root, 'node_modules/.cache/packed')

/** Test files run side by side: one of them builds or packs, the others wait for it. */
async function holdBuild(): Promise<HeldLock> {
  mkdirSync(cache, { recursive: true })
  for (;;) {
    try {
      return await holdLock(path.join(cache, 'lock'), { command: 'scripts/packed.ts' })
    } catch (error) {
      if (!isError(error, 'HDL_LOCKED')) throw error
      await sleep(200)
    }
  }
}

/** Compiles the files that are packed. @throws the compiler's output. */
export async function buildPackages(): Promise<void> {
  await using _ = await holdBuild()
  await build()
}

async function build(): Promise<void> {
  expectOk('tsc -b', await runTool('tsc', ['-b', ...compiledOf(publicPackages())]))
  const site = ['packages/ui/build/build.ts', '--to', 'packages/server/dist/site']
  expectOk('the dashboard', await runNode(site))
}

/** Folders that are compiled: one package has nothing but a program in JavaScript. */
function compiledOf(folders: readonly string[]): string[] {
  return folders.filter((folder) => readdirSync(folder).includes('tsconfig.json'))
}

function expectOk(what: string, { ok, output }: ToolResult): void {
  if (!ok) throw new Error(`${what} failed:\n${output}`)
}

/** Builds the packages and packs them, unless archives of the same files are there. Returns the archives. */
export async function packArchives(): Promise<readonly string[]> {
  await using _ = await holdBuild()
  await build()
  const folder = path.join(cache, fingerprint())
  if (!existsSync(folder)) {
    for (const name of readdirSync(cache)) {
      if (!name.startsWith('lock')) rmSync(path.join(cache, name), { recursive: true })
    }
    const unfinished = path.join(cache, 'unfinished')
    mkdirSync(unfinished)
    for (const each of publicPackages()) {
      const pack = [
        'pack',
        '--ignore-scripts',
        '--loglevel=error',
        '--pack-destination',
        unfinished,
      ]
      expectOk(`npm pack in ${each}`, await runNpm(pack, { cwd: each }))
    }
    renameSync(unfinished, folder)
  }
  return readdirSync(folder).map((name) => path.join(folder, name))
}

/** Changes with every file that may be part of an archive. */
function fingerprint(): string {
  const hash = createHash('sha256')
  for (const folder of publicPackages()) {
    const files = globSync('{bin,dist,src}/**/*', { cwd: folder })
    for (const name of ['package.json', ...files.toSorted()]) {
      const { mtimeMs, size } = statSync(path.join(folder, name))
      hash.update(`${folder}/${name} ${mtimeMs} ${size}\n`)
    }
  }
  return hash.digest('hex').slice(0, 16)
}

/** A registry that has these archives, and gets all other packages from the public one. */
export async function startPackedRegistry(archives: readonly string[]): Promise<Verdaccio> {
  const registry = await startVerdaccio({ upstream: publicRegistry })
  try {
    const token = `--//127.0.0.1:${new URL(registry.url).port}/:_authToken=anybody`
    for (const file of archives) {
      const args = ['publish', file, `--registry=${registry.url}`, token, '--ignore-scripts']
      expectOk(`npm publish ${file}`, await runNpm(args, { cwd: cache }))
    }
    return registry
  } catch (error) {
    await registry.close()
    throw error
  }
}
