/**
 * Builds the dashboard when its sources have changed, and says in which folder it is.
 *
 * The name of the folder is a hash of everything the build reads, so a folder that exists is current and is never
 * written again: any number of processes may ask at the same time, and a build that was cut off leaves only a folder
 * with another name (docs/decisions/0500).
 *
 *     node packages/ui/build/build.ts [--to folder]     prints the folder; with --to it is copied there
 */
import { createHash } from 'node:crypto'
import { cp, mkdir, readFile, readdir, rename, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs } from 'node:util'
import type { InlineConfig } from 'vite'

const packageFolder = path.dirname(import.meta.dirname)
const root = path.resolve(packageFolder, '../..')
const outputs = path.join(packageFolder, 'dist/site')

/** What the build reads, from the root. Changing one of these makes another folder. */
const inputs = [
  'packages/ui/src',
  'packages/ui/index.html',
  'packages/ui/package.json',
  'packages/ui/build/build.ts',
  'packages/server/src/client',
  'node_modules/vite/package.json',
  'node_modules/preact/package.json',
  'node_modules/@preact/signals/package.json',
  'node_modules/uplot/package.json',
]

/** Builds that are kept beside the current one: a server may still be serving the one before. */
const keptBuilds = 3

/** Returns the folder with the built files, after building them if need be. */
export async function buildUi(): Promise<string> {
  const folder = path.join(outputs, await hashInputs())
  if (await exists(path.join(folder, 'index.html'))) return folder
  const temporary = `${folder}.${process.pid}.tmp`
  await mkdir(outputs, { recursive: true })
  const { build } = await import('vite')
  await build(viteConfig(temporary))
  try {
    await rename(temporary, folder)
  } catch (error) {
    // Another process has built the same files meanwhile.
    await rm(temporary, { recursive: true, force: true })
    if (!(await exists(path.join(folder, 'index.html')))) throw error
  }
  await removeOldBuilds(folder)
  return folder
}

/** The one configuration of Vite: no plugin, JSX by oxc, addresses relative to the page. */
export function viteConfig(outDir: string): InlineConfig {
  return {
    configFile: false,
    root: packageFolder,
    base: './',
    logLevel: 'error',
    publicDir: false,
    resolve: { conditions: ['heddle-source', 'module', 'browser', 'production'] },
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    worker: { format: 'es' },
    build: {
      outDir,
      emptyOutDir: true,
      target: 'es2022',
      // Nothing inline: the content security policy allows neither scripts nor data: addresses of scripts.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
    },
  }
}

async function hashInputs(): Promise<string> {
  const hash = createHash('sha256')
  for (const input of inputs) {
    for (const file of await filesOf(path.join(root, input))) {
      hash.update(path.relative(root, file).split(path.sep).join('/')).update('\0')
      hash.update(await readFile(file)).update('\0')
    }
  }
  return hash.digest('hex').slice(0, 16)
}

async function filesOf(input: string): Promise<string[]> {
  let found
  try {
    found = await stat(input)
  } catch {
    return []
  }
  if (!found.isDirectory()) return [input]
  const entries = await readdir(input, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .toSorted()
}

async function removeOldBuilds(current: string): Promise<void> {
  const builds = []
  for (const name of await readdir(outputs)) {
    const folder = path.join(outputs, name)
    if (folder === current || name.endsWith('.tmp')) continue
    builds.push({ folder, at: (await stat(folder)).mtimeMs })
  }
  builds.sort((a, b) => b.at - a.at)
  for (const { folder } of builds.slice(keptBuilds)) {
    await rm(folder, { recursive: true, force: true })
  }
}

async function exists(file: string): Promise<boolean> {
  try {
    await stat(file)
    return true
  } catch {
    return false
  }
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { to: { type: 'string' } } })
  const folder = await buildUi()
  if (values.to === undefined) {
    console.log(folder)
  } else {
    await rm(values.to, { recursive: true, force: true })
    await cp(folder, values.to, { recursive: true })
    console.log(values.to)
  }
}
