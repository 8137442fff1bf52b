import assert from 'node:assert/strict'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { VirtualClock } from '@heddle/core/testing'
import fc from 'fast-check'
import { Resolver } from '../../src/frontend/resolve/resolve.ts'
import { partsOf } from '../../src/parts/parts.ts'
import { tempFolder, type Files } from '../support/temp-folder.ts'

async function partsIn(t: TestContext, files: Files): Promise<readonly (readonly string[])[]> {
  const root = tempFolder(t, files)
  const names = Object.keys(files).filter((name) => /\.[cm]?[jt]s$/.test(name))
  const sources = names.map((name) => path.join(root, name))
  const textOf = (file: string): string => String(files[path.relative(root, file)])
  const parts = await partsOf(sources, textOf, new Resolver(sources), new VirtualClock())
  return parts.map((part) => part.map((file) => path.relative(root, file)))
}

const manifest = (name: string): string => JSON.stringify({ name, main: 'index.js' })

test('packages that do not import each other are separate parts', async (t) => {
  const parts = await partsIn(t, {
    'a/package.json': manifest('a'),
    'a/index.js': "import './other.js'",
    'a/other.js': '',
    'b/package.json': manifest('b'),
    'b/index.js': "import 'elsewhere'",
  })
  assert.deepEqual(parts, [['a/index.js', 'a/other.js'], ['b/index.js']])
})

test('every way to import joins two packages', async (t) => {
  const ways = [
    "import b from 'b'",
    "import 'b'",
    "export * from 'b'",
    "const b = require('b')",
    'const b = await import("b")',
    "import\n  'b'",
    "import b from '../b/index.js'",
    "const b = require( '../b' )",
    "const b = await import(/* webpackChunkName: 'b' */ '../b')",
    "import b from // the other one\n  'b'",
  ]
  for (const way of ways) {
    const parts = await partsIn(t, {
      'a/package.json': manifest('a'),
      'a/index.js': way,
      'b/package.json': manifest('b'),
      'b/index.js': '',
      'c/package.json': manifest('c'),
      'c/index.js': '',
    })
    assert.deepEqual(parts, [['a/index.js', 'b/index.js'], ['c/index.js']], way)
  }
})

test('a package inside another one belongs to the part that imports its folder', async (t) => {
  const parts = await partsIn(t, {
    'package.json': manifest('all'),
    'index.js': "import './plugins/a'",
    'plugins/a/package.json': manifest('a'),
    'plugins/a/index.js': '',
    'plugins/b/package.json': manifest('b'),
    'plugins/b/index.js': '',
  })
  assert.deepEqual(parts, [['index.js', 'plugins/a/index.js'], ['plugins/b/index.js']])
})

test('a package in a package in a package is joined to the outermost, though no package is in between', async (t) => {
  const parts = await partsIn(t, {
    'a/package.json': manifest('a'),
    'a/index.js': "import './b/c/index.js'",
    'a/b/package.json': manifest('b'),
    'a/b/c/package.json': manifest('c'),
    'a/b/c/index.js': '',
  })
  assert.deepEqual(parts, [['a/b/c/index.js', 'a/index.js']])
})

test('a manifest without a name is not a package, and files without one are one part', async (t) => {
  const parts = await partsIn(t, {
    'package.json': manifest('all'),
    'index.js': '',
    'cjs/package.json': '{ "type": "commonjs" }',
    'cjs/index.js': '',
  })
  assert.deepEqual(parts, [['cjs/index.js', 'index.js']])
  assert.deepEqual(await partsIn(t, { 'x/a.js': '', 'y/b.js': '' }), [['x/a.js', 'y/b.js']])
  assert.deepEqual(await partsIn(t, {}), [])
})

test('I1, I2: the parts are the connected components of packages, whatever they import', async (t) => {
  const count = 6
  const edge = fc.tuple(fc.nat(count - 1), fc.nat(count - 1))
  await fc.assert(
    fc.asyncProperty(fc.array(edge, { maxLength: 8 }), async (edges) => {
      const files: Record<string, string> = {}
      for (let at = 0; at < count; at++) {
        const imported = edges.filter(([from]) => from === at)
        files[`p${at}/package.json`] = manifest(`p${at}`)
        files[`p${at}/index.js`] = imported.map(([, to]) => `import 'p${to}'`).join('\n')
      }
      const parts = await partsIn(t, files)
      const partOf = (at: number): number =>
        parts.findIndex((part) => part.includes(`p${at}/index.js`))
      for (let a = 0; a < count; a++) {
        for (let b = 0; b < count; b++) {
          assert.equal(partOf(a) === partOf(b), isConnected(a, b, edges))
        }
      }
      assert.equal(parts.flat().length, count)
    }),
    { numRuns: 60 },
  )
})

function isConnected(a: number, b: number, edges: readonly (readonly [number, number])[]): boolean {
  const seen = new Set([a])
  for (let isGrowing = true; isGrowing;) {
    const before = seen.size
    for (const [from, to] of edges) {
      if (seen.has(from)) seen.add(to)
      if (seen.has(to)) seen.add(from)
    }
    isGrowing = seen.size > before
  }
  return seen.has(b)
}
