/**
 * The first ten minutes of a newcomer, from packed packages: empty folders, and a registry on this machine that has our
 * packages and gets all others from the public one. Without a network they are skipped.
 *
 * One test for each step, in order: those of the npm project use the folder that `npm create` has made.
 */
import assert from 'node:assert/strict'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { after, describe, test } from 'node:test'
import type { Verdaccio } from '@heddle/release/testing'
import { installNode22 } from '../node22.ts'
import { packArchives, publicRegistry, startPackedRegistry } from '../packed.ts'
import { root, runNode, runNpm, runTool, type ToolResult } from '../tool.ts'

async function isOnline(): Promise<boolean> {
  try {
    // A packument that every install asks for anyway.
    return (await fetch(`${publicRegistry}/lru-cache/latest`)).ok
  } catch {
    return false
  }
}

const skip = (await isOnline()) ? false : `${publicRegistry} cannot be reached`

const program = `import { Graph, job, run } from '@heddle/core'

const parse = job({ name: 'parse', place: 'thread', module: import.meta.url }, (csv: string) =>
  csv.split(';').map(Number),
)
const sum = job({ name: 'sum' }, (rows: number[]) => rows.reduce((a, b) => a + b, 0))

const g = new Graph()
const a = g.add('a', parse, { input: '1;2;39' })
const b = g.add('b', sum, { after: [a], input: (of) => of(a) })
void run(g, { concurrency: 8, journal: 'sqlite:runs.db' }).then((result) => console.log(result.of(b), result.succeeded))
`

const printed = "42 [ 'a', 'b' ]"

const vitestProgram = `import { Graph, run } from '@heddle/core'
import { expect, test } from 'vitest'
import { total } from './src/jobs.ts'

test('a job in a thread', async () => {
  const graph = new Graph()
  const node = graph.add('total', total, { input: 'north;1;2;39' })
  expect((await run(graph)).of(node)).toBe(42)
})
`

function expectOk(what: string, { ok, output }: ToolResult): string {
  assert.ok(ok, `${what} failed:\n${output}`)
  return output
}

/** Milliseconds. An install is slow beside eight busy processes on two cores; a hang still ends. */
const timeout = 590_000

const mostCoreBytes = 6_000_000

function sizeOf(folder: string): number {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(path.join(parentPath, name)).size, 0)
}

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, name), text)
}

const manifest = JSON.stringify({ name: 'mine', private: true, type: 'module' })
const home = mkdtempSync(path.join(os.tmpdir(), 'heddle-ten-minutes-'))

function emptyFolder(name: string): string {
  const folder = path.join(home, name)
  mkdirSync(folder)
  return folder
}

describe('from an empty folder', { skip, concurrency: 1 }, () => {
  let archives: readonly string[] = []
  let registry: Verdaccio | undefined
  let env: NodeJS.ProcessEnv = {}
  /** What `npm create` has made. */
  const project = path.join(home, 'npm/my-work')

  after(async () => {
    await registry?.close()
    rmSync(home, { recursive: true, force: true })
  })

  const inProject = async (what: string, args: readonly string[], node?: string): Promise<string> =>
    expectOk(what, await runNode(args, { cwd: project, env, ...(node !== undefined && { node }) }))
  const npmInProject = async (...args: readonly string[]): Promise<string> =>
    expectOk(`npm ${args.join(' ')}`, await runNpm(args, { cwd: project, env }))

  test('the packages are built and packed', { timeout }, async () => {
    archives = await packArchives()
    assert.ok(archives.length > 5)
  })

  test('a registry takes the packages', { timeout }, async () => {
    registry = await startPackedRegistry(archives)
    const { NODE_OPTIONS: _, ...rest } = process.env
    env = {
      ...rest,
      npm_config_registry: registry.url,
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_update_notifier: 'false',
      npm_config_prefer_offline: 'true',
      // Other releases of ours with the same version are in the user's cache, and not the same.
      npm_config_cache: path.join(root, 'node_modules/.cache/npm-of-tests'),
      CI: '1',
    }
  })

  test('npm create heddle makes a project and installs it', { timeout }, async () => {
    const create = ['create', '--yes', 'heddle', 'my-work']
    expectOk('npm create', await runNpm(create, { cwd: emptyFolder('npm'), env }))
    if (!existsSync(path.join(project, 'node_modules'))) await npmInProject('install')
    const size = sizeOf(path.join(project, 'node_modules/@heddle/core'))
    assert.ok(size < mostCoreBytes, `@heddle/core takes ${size} bytes`)
  })

  test('npm start runs its graph', { timeout }, async () => {
    assert.match(await npmInProject('start'), /4 succeeded|total south/)
  })

  test('npm test passes', { timeout }, async () => {
    await npmInProject('test')
  })

  test('its types are right for TypeScript 5.9', { timeout }, async () => {
    const file = path.join(project, 'node_modules/typescript/package.json')
    const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string }
    assert.match(version, /^5\.9\./)
    await npmInProject('run', 'check')
  })

  test('its types are right for TypeScript 7', { timeout }, async () => {
    expectOk('tsc 7', await runTool('tsc', ['-p', project]))
  })

  test('its test and its graph run on Node 22', { timeout }, async (t) => {
    const old = await installNode22()
    if (!('node' in old)) return t.skip(old.missing)
    await inProject('the test on Node 22', ['--test', 'test/jobs.test.ts'], old.node)
    const run = ['node_modules/heddle/bin/heddle.js', 'run', 'src/graph.ts']
    await inProject('heddle run on Node 22', run, old.node)
  })

  test('vitest runs a job in a thread', { timeout }, async () => {
    await npmInProject('install', '--save-dev', 'vitest@4')
    write(project, { 'jobs.vitest.test.ts': vitestProgram })
    const vitest = ['node_modules/vitest/vitest.mjs', 'run', 'jobs.vitest.test.ts']
    await inProject('vitest', vitest)
  })

  test('bundles of esbuild, ESM and CommonJS, run without the project', { timeout }, async () => {
    await npmInProject('install', '--save-dev', 'esbuild@0.28')
    write(project, { 'main.ts': program })
    for (const [format, extension] of [
      ['esm', 'mjs'],
      ['cjs', 'cjs'],
    ] as const) {
      // Not through Node: its install script replaces the launcher by the program itself.
      const bundle = [
        'exec',
        '--',
        'esbuild',
        'main.ts',
        'heddle-thread=@heddle/core/thread',
        '--bundle',
        '--platform=node',
        `--format=${format}`,
        '--log-level=error',
        `--outdir=${path.join(home, format)}`,
        `--out-extension:.js=.${extension}`,
      ]
      await npmInProject(...bundle)
      // Outside of the project: nothing but the bundle is there.
      const output = await runNode([`main.${extension}`], { cwd: path.join(home, format), env })
      assert.ok(expectOk(`the ${format} bundle`, output).includes(printed))
    }
  })

  /** Installs with another manager, runs the program of the README and the command. */
  async function installWith(
    folder: string,
    manager: string,
    exec: readonly string[],
  ): Promise<void> {
    const start = async (what: string, args: readonly string[]): Promise<string> =>
      expectOk(what, await runNode(args, { cwd: folder, env }))
    await start('add', [manager, 'add', '@heddle/core', 'heddle'])
    assert.ok((await start('node main.ts', ['main.ts'])).includes(printed))
    await start('heddle --version', [manager, ...exec, 'heddle', '--version'])
  }

  test('pnpm add heddle: the program of the README', { timeout }, async () => {
    assert.ok(registry)
    const folder = emptyFolder('pnpm')
    write(folder, {
      'package.json': manifest,
      'main.ts': program,
      '.npmrc': `registry=${registry.url}\nstore-dir=${path.join(home, 'pnpm-store')}\n`,
    })
    await installWith(folder, path.join(root, 'node_modules/pnpm/bin/pnpm.cjs'), ['exec'])
  })

  test('yarn add heddle: the program of the README', { timeout }, async () => {
    assert.ok(registry)
    const folder = emptyFolder('yarn')
    write(folder, {
      'package.json': manifest,
      'main.ts': program,
      'yarn.lock': '',
      '.yarnrc.yml': [
        'nodeLinker: node-modules',
        'enableTelemetry: false',
        'enableImmutableInstalls: false',
        `npmRegistryServer: ${JSON.stringify(registry.url)}`,
        'unsafeHttpWhitelist: ["127.0.0.1"]',
        // Yarn refuses packages that were published within the last day; ours were published a moment ago.
        'npmPreapprovedPackages: ["heddle", "@heddle/*"]',
        `globalFolder: ${JSON.stringify(path.join(home, 'yarn-global'))}`,
      ].join('\n'),
    })
    await installWith(folder, path.join(root, 'node_modules/@yarnpkg/cli-dist/bin/yarn.js'), [])
  })
})
