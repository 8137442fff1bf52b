/**
 * Heddle with other tools, from packed packages: package managers, bundlers, test runners, programs that run TypeScript. Each line of
 * docs/guide/bundlers.md is tried. Without a network they are skipped.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { root, runNode, runNpm } from '../tool.ts'
import {
  expectOk,
  manifest,
  Newcomer,
  printed,
  program,
  programInJavaScript,
  skip,
  timeout,
  write,
} from './newcomer.ts'

const vitestProgram = `import { Graph, run } from '@heddle/core'
import { expect, test } from 'vitest'
import { total } from './jobs.ts'

test('a job in a thread', async () => {
  const graph = new Graph()
  const node = graph.add('total', total, { input: '1;2;39' })
  expect((await run(graph)).of(node)).toBe(42)
})
`

const jobsForTests = `import { job } from '@heddle/core'

export const total = job({ name: 'total', place: 'thread', module: import.meta.url }, (csv) =>
  csv.split(';').reduce((sum, value) => sum + Number(value), 0),
)
`

const jestProgram = `import { Graph, run } from '@heddle/core'
import { total } from './jobs.mjs'

test('a job in a thread', async () => {
  const graph = new Graph()
  const node = graph.add('total', total, { input: '1;2;39' })
  expect((await run(graph)).of(node)).toBe(42)
})
`

/** Bundles with and without the entry of threads, as ES module and as CommonJS. */
const formats = [
  ['es', 'mjs'],
  ['cjs', 'cjs'],
] as const

const rollupConfig = `import resolve from '@rollup/plugin-node-resolve'

const names = (extension) => ({ entryFileNames: '[name].' + extension, chunkFileNames: '[name]-[hash].' + extension })
const common = { external: [/^node:/, 'pg'], plugins: [resolve()] }
const thread = { 'heddle-thread': '@heddle/core/thread' }

export default [
  ...[['es', 'mjs'], ['cjs', 'cjs']].map(([format, extension]) => ({
    ...common,
    input: { main: 'main.js', ...thread },
    output: { dir: '../rollup-' + format, format, ...names(extension) },
  })),
  { ...common, input: { main: 'main.js' }, output: { dir: '../rollup-bare', format: 'es', ...names('mjs') } },
]
`

const viteConfig = (format: string, extension: string): string => `export default {
  logLevel: 'error',
  build: {
    ssr: true,
    outDir: '../vite-${format}',
    rollupOptions: {
      input: { main: 'main.ts', 'heddle-thread': '@heddle/core/thread' },
      output: { format: '${format}', entryFileNames: '[name].${extension}' },
    },
  },
  ssr: { noExternal: true, external: ['pg'] },
}
`

describe('with other tools', { skip, concurrency: 1 }, () => {
  const newcomer = new Newcomer()
  const { home } = newcomer
  after(() => newcomer[Symbol.asyncDispose]())
  before(() => newcomer.start(), { timeout })

  /** A project that npm has installed core and these packages in. */
  async function projectWith(name: string, ...packages: readonly string[]): Promise<string> {
    const folder = newcomer.emptyFolder(name)
    write(folder, { 'package.json': manifest, 'main.ts': program, 'main.js': programInJavaScript })
    const install = ['install', '@heddle/core', ...packages]
    expectOk('npm install', await runNpm(install, { cwd: folder, env: newcomer.env }))
    return folder
  }

  /** Runs a program that npm has installed in the project. */
  async function exec(folder: string, ...args: readonly string[]): Promise<string> {
    const output = await runNpm(['exec', '--', ...args], { cwd: folder, env: newcomer.env })
    return expectOk(args.join(' '), output)
  }

  /** Runs a bundle outside of the project: nothing but the bundle is there. */
  async function runBundle(folder: string, file: string): Promise<void> {
    const output = await newcomer.node(`${folder}/${file}`, path.join(home, folder), [file])
    assert.ok(output.includes(printed), output)
  }

  test('vitest runs a job in a thread', { timeout }, async () => {
    const project = await projectWith('vitest', 'vitest@4')
    write(project, {
      'jobs.ts': jobsForTests.replace('(csv)', '(csv: string)'),
      'jobs.test.ts': vitestProgram,
    })
    await newcomer.node('vitest', project, ['node_modules/vitest/vitest.mjs', 'run'])
  })

  test('jest runs a job in a thread, with modules of the vm', { timeout }, async () => {
    const project = await projectWith('jest', 'jest@30')
    write(project, {
      'jobs.mjs': jobsForTests,
      'jobs.test.mjs': jestProgram,
      'required.test.cjs': `test('require()', () => expect(typeof require('@heddle/core').run).toBe('function'))`,
      'jest.config.json': JSON.stringify({
        testMatch: ['**/*.test.mjs', '**/*.test.cjs'],
        moduleFileExtensions: ['mjs', 'cjs', 'js', 'json'],
        transform: {},
      }),
    })
    const jest = ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js']
    await newcomer.node('jest', project, jest)
  })

  test('esbuild: bundles as ES module and as CommonJS', { timeout }, async () => {
    const project = await projectWith('esbuild', 'esbuild@0.28')
    for (const [format, extension] of [
      ['esm', 'mjs'],
      ['cjs', 'cjs'],
    ] as const) {
      const entries = ['main.ts', 'heddle-thread=@heddle/core/thread']
      const how = ['--bundle', '--platform=node', `--format=${format}`, '--log-level=error']
      const to = [`--outdir=../esbuild-${format}`, `--out-extension:.js=.${extension}`]
      await exec(project, 'esbuild', ...entries, ...how, ...to)
      await runBundle(`esbuild-${format}`, `main.${extension}`)
    }
  })

  test(
    'rollup: bundles as ES module and as CommonJS, and the error without the entry',
    { timeout },
    async () => {
      const project = await projectWith('rollup', 'rollup@4', '@rollup/plugin-node-resolve@16')
      write(project, { 'rollup.config.mjs': rollupConfig })
      await exec(project, 'rollup', '-c', '--silent')
      for (const [format, extension] of formats)
        await runBundle(`rollup-${format}`, `main.${extension}`)
      const bare = await runNode(['main.mjs'], {
        cwd: path.join(home, 'rollup-bare'),
        env: newcomer.env,
      })
      assert.equal(bare.ok, false)
      assert.match(bare.output, /HDL_THREAD_FILE/)
      assert.match(
        bare.output,
        /Add `@heddle\/core\/thread` to the entry points of the bundler under the name `heddle-thread`/,
      )
    },
  )

  test('Vite: bundles as ES module and as CommonJS', { timeout }, async () => {
    const project = await projectWith('vite', 'vite@8')
    for (const [format, extension] of formats) {
      const config = `vite.${format}.mjs`
      write(project, { [config]: viteConfig(format, extension) })
      await exec(project, 'vite', 'build', '--config', config)
      await runBundle(`vite-${format}`, `main.${extension}`)
    }
  })

  test('tsx and ts-node run the program, and so does Node with CommonJS', { timeout }, async () => {
    const project = await projectWith(
      'typescript',
      'tsx@4',
      'ts-node@10',
      'typescript@5.9',
      '@types/node@22',
    )
    const compilerOptions = {
      module: 'nodenext',
      target: 'es2022',
      strict: true,
      skipLibCheck: true,
      types: ['node'],
    }
    write(project, {
      'tsconfig.json': JSON.stringify({ compilerOptions }),
      'main.cjs': programInJavaScript
        .replace(/^import (.+) from '(.+)'/, "const $1 = require('$2')")
        .replace('import.meta.url', '__filename'),
    })
    for (const args of [
      ['node_modules/tsx/dist/cli.mjs', 'main.ts'],
      ['--loader', 'ts-node/esm', 'main.ts'],
      ['main.cjs'],
    ]) {
      const output = await newcomer.node(args.join(' '), project, args)
      assert.ok(output.includes(printed), output)
    }
  })

  /** Installs with another manager, runs the program of the README and the command. */
  async function installWith(
    folder: string,
    manager: string,
    execute: readonly string[],
  ): Promise<void> {
    const start = (what: string, args: readonly string[]): Promise<string> =>
      newcomer.node(what, folder, args)
    await start('add', [manager, 'add', '@heddle/core', 'heddle'])
    assert.ok((await start('node main.ts', ['main.ts'])).includes(printed))
    await start('heddle --version', [manager, ...execute, 'heddle', '--version'])
  }

  test('pnpm add heddle: the program of the README', { timeout }, async () => {
    const folder = newcomer.emptyFolder('pnpm')
    write(folder, {
      'package.json': manifest,
      'main.ts': program,
      '.npmrc': `registry=${newcomer.registry}\nstore-dir=${path.join(home, 'pnpm-store')}\n`,
    })
    await installWith(folder, path.join(root, 'node_modules/pnpm/bin/pnpm.cjs'), ['exec'])
  })

  test('yarn add heddle: the program of the README', { timeout }, async () => {
    const folder = newcomer.emptyFolder('yarn')
    write(folder, {
      'package.json': manifest,
      'main.ts': program,
      'yarn.lock': '',
      '.yarnrc.yml': [
        'nodeLinker: node-modules',
        'enableTelemetry: false',
        'enableImmutableInstalls: false',
        `npmRegistryServer: ${JSON.stringify(newcomer.registry)}`,
        'unsafeHttpWhitelist: ["127.0.0.1"]',
        // Yarn refuses packages that were published within the last day; ours were published a moment ago.
        'npmPreapprovedPackages: ["heddle", "@heddle/*"]',
        `globalFolder: ${JSON.stringify(path.join(home, 'yarn-global'))}`,
      ].join('\n'),
    })
    await installWith(folder, path.join(root, 'node_modules/@yarnpkg/cli-dist/bin/yarn.js'), [])
  })

  test('bun add heddle: the program of the README, run by Node', { timeout }, async () => {
    const tool = newcomer.emptyFolder('bun-itself')
    write(tool, { 'package.json': manifest })
    // Its install script copies the program to where npm links it.
    const install = ['install', 'bun@1', '--ignore-scripts=false']
    expectOk('npm install bun', await runNpm(install, { cwd: tool, env: newcomer.env }))
    const folder = newcomer.emptyFolder('bun')
    write(folder, {
      'package.json': manifest,
      'main.ts': program,
      'bunfig.toml': `[install]\nregistry = ${JSON.stringify(newcomer.registry)}\ncache.dir = ${JSON.stringify(path.join(home, 'bun-cache'))}\n`,
    })
    const bun = path.join(tool, 'node_modules/.bin/bun')
    const { status, stdout, stderr } = spawnSync(bun, ['add', '@heddle/core', 'heddle'], {
      cwd: folder,
      env: newcomer.env,
      encoding: 'utf8',
    })
    assert.equal(status, 0, stdout + stderr)
    assert.ok((await newcomer.node('node main.ts', folder, ['main.ts'])).includes(printed))
    await newcomer.node('heddle --version', folder, [
      'node_modules/heddle/bin/heddle.js',
      '--version',
    ])
  })
})
