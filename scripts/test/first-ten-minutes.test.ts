/**
 * The first ten minutes of a newcomer, from packed packages: each test starts in an empty folder, with a registry on this
 * machine that has our packages and gets all others from the public one. Without a network they are skipped.
 */
import assert from 'node:assert/strict'
import {
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
import { after, before, describe, test } from 'node:test'
import type { Verdaccio } from '@heddle/release/testing'
import { installNode22 } from '../node22.ts'
import { publicRegistry, startPackedRegistry } from '../packed.ts'
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

/** Milliseconds. Installs are slow beside eight busy processes on two cores; a hang still ends. */
const patience = 3_600_000

const mostCoreBytes = 6_000_000

function sizeOf(folder: string): number {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(path.join(parentPath, name)).size, 0)
}

describe('from an empty folder', { skip, concurrency: 1, timeout: patience }, () => {
  let registry: Verdaccio
  let home: string
  let env: NodeJS.ProcessEnv

  before(
    async () => {
      home = mkdtempSync(path.join(os.tmpdir(), 'heddle-ten-minutes-'))
      registry = await startPackedRegistry()
      const { NODE_OPTIONS: _, ...rest } = process.env
      env = {
        ...rest,
        npm_config_registry: registry.url,
        npm_config_audit: 'false',
        npm_config_fund: 'false',
        npm_config_update_notifier: 'false',
        // Other releases of ours with the same version are in the user's cache, and not the same.
        npm_config_cache: path.join(root, 'node_modules/.cache/npm-of-tests'),
        CI: '1',
      }
    },
    { timeout: patience },
  )

  after(async () => {
    await registry.close()
    rmSync(home, { recursive: true, force: true })
  })

  function emptyFolder(name: string): string {
    const folder = path.join(home, name)
    mkdirSync(folder)
    return folder
  }

  function write(folder: string, files: Readonly<Record<string, string>>): void {
    for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, name), text)
  }

  const manifest = JSON.stringify({ name: 'mine', private: true, type: 'module' })

  test(
    'npm create heddle: a project that runs, passes its test and its types, on Node 24 and 22',
    { timeout: patience },
    async () => {
      const parent = emptyFolder('npm')
      const npm = (args: readonly string[], cwd: string): Promise<ToolResult> =>
        runNpm(args, { cwd, env })
      expectOk('npm create', await npm(['create', '--yes', 'heddle', 'my-work'], parent))
      const folder = path.join(parent, 'my-work')
      const more = ['vitest@4', 'esbuild@0.28']
      expectOk('npm install', await npm(['install', '--save-dev', ...more], folder))
      assert.match(expectOk('npm start', await npm(['start'], folder)), /4 succeeded|total south/)
      expectOk('npm test', await npm(['test'], folder))
      const size = sizeOf(path.join(folder, 'node_modules/@heddle/core'))
      assert.ok(size < mostCoreBytes, `@heddle/core takes ${size} bytes`)
      const { version } = JSON.parse(
        readFileSync(path.join(folder, 'node_modules/typescript/package.json'), 'utf8'),
      ) as { version: string }
      assert.match(version, /^5\.9\./)
      expectOk('tsc 5.9', await npm(['run', 'check'], folder))
      expectOk('tsc 7', await runTool('tsc', ['-p', folder]))

      const old = await installNode22()
      if ('node' in old) {
        const files = ['--test', 'test/jobs.test.ts']
        expectOk('the test on Node 22', await runNode(files, { cwd: folder, env, node: old.node }))
        const run = ['node_modules/heddle/bin/heddle.js', 'run', 'src/graph.ts']
        expectOk('heddle run on Node 22', await runNode(run, { cwd: folder, env, node: old.node }))
      }

      write(folder, { 'jobs.vitest.test.ts': vitestProgram, 'main.ts': program })
      const vitest = ['node_modules/vitest/vitest.mjs', 'run', 'jobs.vitest.test.ts']
      expectOk('vitest', await runNode(vitest, { cwd: folder, env }))

      for (const [format, extension] of [
        ['esm', 'mjs'],
        ['cjs', 'cjs'],
      ] as const) {
        const bundle = [
          'node_modules/esbuild/bin/esbuild',
          'main.ts',
          'heddle-thread=@heddle/core/thread',
          '--bundle',
          '--platform=node',
          `--format=${format}`,
          '--log-level=error',
          `--outdir=${path.join(home, format)}`,
          `--out-extension:.js=.${extension}`,
        ]
        expectOk('esbuild', await runNode(bundle, { cwd: folder, env }))
        // Outside of the project: nothing but the bundle is there.
        const output = await runNode([`main.${extension}`], { cwd: path.join(home, format), env })
        assert.ok(expectOk(`the ${format} bundle`, output).includes(printed))
      }
    },
  )

  test('pnpm add heddle: the program of the README', { timeout: patience }, async () => {
    const folder = emptyFolder('pnpm')
    write(folder, {
      'package.json': manifest,
      'main.ts': program,
      '.npmrc': `registry=${registry.url}\nstore-dir=${path.join(home, 'pnpm-store')}\n`,
    })
    const pnpm = path.join(root, 'node_modules/pnpm/bin/pnpm.cjs')
    const add = [pnpm, 'add', '@heddle/core', 'heddle']
    expectOk('pnpm add', await runNode(add, { cwd: folder, env }))
    const output = await runNode(['main.ts'], { cwd: folder, env })
    assert.ok(expectOk('node main.ts', output).includes(printed))
    const version = [pnpm, 'exec', 'heddle', '--version']
    expectOk('heddle --version', await runNode(version, { cwd: folder, env }))
  })

  test('yarn add heddle: the program of the README', { timeout: patience }, async () => {
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
        `globalFolder: ${JSON.stringify(path.join(home, 'yarn-global'))}`,
      ].join('\n'),
    })
    const yarn = path.join(root, 'node_modules/@yarnpkg/cli-dist/bin/yarn.js')
    const add = [yarn, 'add', '@heddle/core', 'heddle']
    expectOk('yarn add', await runNode(add, { cwd: folder, env }))
    const output = await runNode(['main.ts'], { cwd: folder, env })
    assert.ok(expectOk('node main.ts', output).includes(printed))
    const version = [yarn, 'heddle', '--version']
    expectOk('heddle --version', await runNode(version, { cwd: folder, env }))
  })
})
