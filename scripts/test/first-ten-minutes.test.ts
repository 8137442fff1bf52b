/**
 * The first ten minutes of a newcomer with npm, from packed packages. Without a network they are skipped. Other package managers, bundlers and
 * test runners: other-tools.test.ts.
 *
 * One test for each step, in order: those of the npm project use the folder that `npm create` has made.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { after, describe, test } from 'node:test'
import { installNode22 } from '../node22.ts'
import { runNpm, runTool } from '../tool.ts'
import { expectOk, Newcomer, skip, timeout } from './newcomer.ts'

const mostCoreBytes = 6_000_000

function sizeOf(folder: string): number {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(path.join(parentPath, name)).size, 0)
}

describe('from an empty folder', { skip, concurrency: 1 }, () => {
  const newcomer = new Newcomer()
  /** What `npm create` has made. */
  const project = path.join(newcomer.home, 'npm/my-work')

  after(() => newcomer[Symbol.asyncDispose]())

  const npmInProject = async (...args: readonly string[]): Promise<string> =>
    expectOk(`npm ${args.join(' ')}`, await runNpm(args, { cwd: project, env: newcomer.env }))

  test('the packages are built, packed and published to a registry', { timeout }, async () => {
    await newcomer.start()
  })

  test('npm create heddle makes a project and installs it', { timeout }, async () => {
    const create = ['create', '--yes', 'heddle', 'my-work']
    expectOk(
      'npm create',
      await runNpm(create, { cwd: newcomer.emptyFolder('npm'), env: newcomer.env }),
    )
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
    const testIt = ['--test', 'test/jobs.test.ts']
    await newcomer.node('the test on Node 22', project, testIt, old.node)
    const run = ['node_modules/heddle/bin/heddle.js', 'run', 'src/graph.ts']
    await newcomer.node('heddle run on Node 22', project, run, old.node)
  })
})
