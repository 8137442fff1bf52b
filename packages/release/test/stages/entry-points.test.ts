import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { entryPointsOf, importProblem } from '../../src/stages/entry-points.ts'
import { makeTree } from '../workspace/tree.ts'

test('entry points are the files that Node can run', async (t) => {
  const folder = await makeTree(t, { 'index.js': '' })
  const empty = mkdtempSync(path.join(os.tmpdir(), 'heddle-empty-'))
  t.after(() => rmSync(empty, { recursive: true }))
  const of = async (fields: object, where = folder): Promise<string[]> => {
    const found = await entryPointsOf(where, { name: '@x/y', ...fields })
    return found.map(({ specifier, kinds }) => `${kinds.join('+')} ${specifier}`)
  }
  assert.deepEqual(await of({}), ['import @x/y'])
  assert.deepEqual(await of({}, empty), [], 'a package of programs, or of types')
  assert.deepEqual(await of({ main: 'lib' }, empty), ['import @x/y'])
  assert.deepEqual(await of({ main: 'style.css' }), [])
  assert.deepEqual(await of({ exports: './a.js' }), ['import @x/y'])
  assert.deepEqual(
    await of({
      exports: {
        '.': {
          'own-source': './src/a.ts',
          types: './a.d.ts',
          import: './a.js',
          require: './a.cjs',
        },
        './types': { types: './b.d.ts' },
        './old': { require: './old.cjs' },
        './style.css': './style.css',
        './package.json': './package.json',
        './features/*': './f/*.js',
        './closed': null,
        './browser': { browser: './b.js', default: './b.wasm' },
      },
    }),
    ['import+require @x/y', 'require @x/y/old'],
  )
})

async function problemOf(
  t: TestContext,
  code: string,
  manifest: object = {},
): Promise<string | undefined> {
  const project = await makeTree(t, {
    'node_modules/x/package.json': { name: 'x', type: 'module', main: 'index.js' },
    'node_modules/x/index.js': code,
  })
  const { signal } = new AbortController()
  const entries = [{ specifier: 'x', kinds: ['import' as const] }]
  return importProblem(project, entries, { name: 'x', ...manifest }, signal)
}

test('an entry point that cannot be imported is named, with the reason', async (t) => {
  assert.equal(await problemOf(t, 'console.log("[]")'), undefined)
  assert.equal(await problemOf(t, 'setInterval(() => {}, 1000)'), undefined)
  assert.match((await problemOf(t, 'import "y"'))!, /import of "x" failed: Cannot find package 'y'/)
  assert.match((await problemOf(t, 'throw new Error("no window")'))!, /failed: no window/)
  assert.match((await problemOf(t, 'process.exit(3)'))!, /ended the process \(exit code 3\)/)
  assert.match((await problemOf(t, 'process.exit(0)'))!, /ended the process/)
  const optional = { peerDependenciesMeta: { y: { optional: true } } }
  assert.equal(await problemOf(t, 'import "y"', optional), undefined)
})
