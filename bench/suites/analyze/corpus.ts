/**
 * The code that is analysed: packages as they are published, fetched when they are first needed into a
 * folder of the system for temporary files. Nothing of it is kept in the repository.
 */
import { createHash } from 'node:crypto'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { runCommand } from '@heddle/core/lowlevel'

interface CorpusPackage {
  readonly name: string
  readonly version: string
  /** Installed beside it, so that its types are complete. */
  readonly types?: Readonly<Record<string, string>>
}

/** TypeScript with its sources and its tsconfig: 41,000 lines. */
export const typedPackage: CorpusPackage = {
  name: 'mongodb',
  version: '7.8.0',
  types: {
    '@mongodb-js/saslprep': '1.5.0',
    '@types/node': '24.19.2',
    bson: '7.3.2',
    'mongodb-connection-string-url': '7.0.2',
  },
}

/** Code that is not minified, most of it asynchronous: 1.7 million lines. */
export const untypedPackages: readonly CorpusPackage[] = [
  { name: '@elastic/elasticsearch', version: '9.4.3' },
  { name: 'discord.js', version: '14.27.0' },
  { name: 'eslint', version: '10.14.0' },
  { name: 'ethers', version: '6.17.0' },
  { name: 'fastify', version: '5.12.8' },
  { name: 'firebase-tools', version: '15.34.2' },
  { name: 'ghost', version: '5.130.6' },
  { name: 'matrix-js-sdk', version: '37.5.0' },
  { name: 'mongoose', version: '9.12.0' },
  { name: 'parse-server', version: '9.10.0' },
  { name: 'playwright-core', version: '1.65.0' },
  { name: 'puppeteer-core', version: '24.43.1' },
  { name: 'typeorm', version: '1.1.1' },
  { name: 'undici', version: '8.12.4' },
  { name: 'webpack', version: '5.112.2' },
]

const packages = [typedPackage, ...untypedPackages]
const mark = createHash('sha256').update(JSON.stringify(packages)).digest('hex').slice(0, 12)
const limitMs = 300_000

export interface FetchOptions {
  readonly offline: boolean
  readonly onProgress: (line: string) => void
}

/** Where the corpus is, or why it is not there. */
export async function provideCorpus(
  options: FetchOptions,
): Promise<{ readonly folder: string } | { readonly reason: string }> {
  const folder = path.join(os.tmpdir(), `heddle-bench-corpus-${mark}`)
  const done = await readFile(path.join(folder, '.done'), 'utf8').catch(() => undefined)
  if (done === mark) return { folder }
  if (options.offline)
    return { reason: 'the corpus is not there, and --offline forbids to fetch it' }
  options.onProgress('fetching the packages that are analysed; only the first time')
  try {
    await fetchAll(folder)
    return { folder }
  } catch (error) {
    return { reason: `the corpus could not be fetched: ${String(error)}` }
  }
}

async function fetchAll(folder: string): Promise<void> {
  const unfinished = `${folder}.${process.pid}`
  await rm(unfinished, { recursive: true, force: true })
  for (const one of packages) await fetchPackage(one, path.join(unfinished, one.name))
  await writeFile(path.join(unfinished, '.done'), mark)
  await rm(folder, { recursive: true, force: true })
  await rename(unfinished, folder)
}

async function fetchPackage(
  { name, version, types }: CorpusPackage,
  folder: string,
): Promise<void> {
  await mkdir(folder, { recursive: true })
  const run = (file: string, ...args: readonly string[]): Promise<{ readonly stdout: string }> =>
    runCommand(file, args, {
      cwd: folder,
      deadline: limitMs,
      env: { ...process.env, NODE_OPTIONS: '' },
    })
  const { stdout } = await run('npm', 'pack', `${name}@${version}`, '--silent')
  const archive = stdout.trim().split('\n').at(-1) ?? ''
  await run('tar', '-xzf', archive, '--strip-components=1')
  await rm(path.join(folder, archive))
  if (types === undefined) return
  // Only the packages that its types need, not those it is built and tested with.
  await writeFile(
    path.join(folder, 'package.json'),
    JSON.stringify({ name, version, private: true, dependencies: types }),
  )
  await run('npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error')
}
