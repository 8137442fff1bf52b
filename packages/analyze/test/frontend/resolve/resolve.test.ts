import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { Resolver } from '../../../src/frontend/resolve/resolve.ts'
import type { ImportMode, ImportTarget } from '../../../src/frontend/resolve/target.ts'
import { tempFolder, type Files } from '../../support/temp-folder.ts'

type Resolve = (from: string, specifier: string, mode?: ImportMode) => string | ImportTarget

/** Resolves inside a folder with these files; files are named by their relative paths. */
function resolving(t: TestContext, files: Files): Resolve {
  const root = tempFolder(t, files)
  const sources = Object.keys(files).filter((name) => /\.[cm]?[jt]sx?$/.test(name))
  const resolver = new Resolver(sources.map((name) => path.join(root, name)))
  return (from, specifier, mode) => {
    const target = resolver.resolveImport(path.join(root, from), specifier, mode)
    return target.kind === 'file' ? path.relative(root, target.file) : target
  }
}

const unresolved: ImportTarget = { kind: 'unresolved' }

test('relative: with and without extension, the source of an output, index files', (t) => {
  const resolve = resolving(t, {
    'a.ts': '',
    'b.tsx': '',
    'c.mts': '',
    'd.js': '',
    'both.ts': '',
    'both.js': '',
    'folder/index.ts': '',
    'styles.css': '',
    'data.json': '',
  })
  assert.equal(resolve('x.ts', './a'), 'a.ts')
  assert.equal(resolve('x.ts', './a.ts'), 'a.ts')
  assert.equal(resolve('x.ts', './a.js'), 'a.ts')
  assert.equal(resolve('x.ts', './b.js'), 'b.tsx')
  assert.equal(resolve('x.ts', './b.jsx'), 'b.tsx')
  assert.equal(resolve('x.ts', './c.mjs'), 'c.mts')
  assert.equal(resolve('x.ts', './d.js'), 'd.js')
  assert.equal(resolve('x.ts', './both.js'), 'both.ts')
  assert.equal(resolve('x.ts', './folder'), 'folder/index.ts')
  assert.equal(resolve('folder/y.ts', '.'), 'folder/index.ts')
  assert.equal(resolve('folder/y.ts', '..'), resolve('x.ts', './index'))
  assert.equal(resolve('folder/y.ts', '../a.js?raw'), 'a.ts')
  for (const gone of ['./nothing', './styles.css', './data.json', 'https://x.y/z.js', '']) {
    assert.deepEqual(resolve('x.ts', gone), unresolved, gone)
  }
})

test('node and packages are names', (t) => {
  const resolve = resolving(t, { 'a.ts': '', 'node_modules/lib/index.js': '' })
  assert.deepEqual(resolve('a.ts', 'node:fs/promises'), { kind: 'node', module: 'fs/promises' })
  assert.deepEqual(resolve('a.ts', 'fs'), { kind: 'node', module: 'fs' })
  assert.deepEqual(resolve('a.ts', 'lib/deep/x.js', 'require'), {
    kind: 'package',
    name: 'lib',
    subpath: './deep/x.js',
  })
  assert.deepEqual(resolve('a.ts', '@scope/pkg'), {
    kind: 'package',
    name: '@scope/pkg',
    subpath: '.',
  })
})

test('tsconfig: paths, the longest first, through extends, and baseUrl', (t) => {
  const resolve = resolving(t, {
    'tsconfig.json': '{ "extends": "./base" /* c */ }',
    'base.json': JSON.stringify({
      compilerOptions: {
        baseUrl: 'src',
        paths: { '@app/*': ['app/*'], '@app/ui/*': ['gone/*', 'ui/*'], '#config': ['config.ts'] },
      },
    }),
    'src/app/a.ts': '',
    'src/ui/b.ts': '',
    'src/config.ts': '',
  })
  assert.equal(resolve('src/x.ts', '@app/a'), 'src/app/a.ts')
  assert.equal(resolve('src/x.ts', '@app/ui/b.js'), 'src/ui/b.ts')
  assert.equal(resolve('src/x.ts', '#config'), 'src/config.ts')
  assert.equal(resolve('src/x.ts', 'ui/b'), 'src/ui/b.ts')
})

test('a tsconfig that is broken or extends itself still resolves imports that do not need it', (t) => {
  const resolve = resolving(t, {
    'tsconfig.json': '{ "extends": "./tsconfig.json" }',
    'sub/tsconfig.json': '{ nonsense',
    'a.ts': '',
    'sub/b.ts': '',
  })
  assert.equal(resolve('sub/b.ts', '../a'), 'a.ts')
  assert.equal(resolve('a.ts', './sub/b'), 'sub/b.ts')
})

test('packages of the program are their sources, by a condition or by where output goes', (t) => {
  const resolve = resolving(t, {
    'tsconfig.json': '{ "compilerOptions": { "customConditions": ["our-source"] } }',
    'packages/a/package.json': JSON.stringify({
      name: '@our/a',
      exports: { '.': { 'our-source': './src/index.ts', default: './dist/index.js' } },
    }),
    'packages/a/src/index.ts': '',
    'packages/b/package.json': JSON.stringify({
      name: 'b',
      exports: { '.': './dist/main.js', './*': { types: './dist/*.d.ts', default: './dist/*.js' } },
    }),
    'packages/b/src/main.ts': '',
    'packages/b/src/sub.ts': '',
    'packages/c/package.json': JSON.stringify({ name: 'c', main: 'lib/index.js' }),
    'packages/c/src/index.ts': '',
  })
  assert.equal(resolve('packages/b/src/main.ts', '@our/a'), 'packages/a/src/index.ts')
  assert.equal(resolve('packages/a/src/index.ts', 'b'), 'packages/b/src/main.ts')
  assert.equal(resolve('packages/a/src/index.ts', 'b/sub'), 'packages/b/src/sub.ts')
  assert.equal(resolve('packages/a/src/index.ts', 'c', 'require'), 'packages/c/src/index.ts')
  assert.equal(resolve('packages/b/src/main.ts', 'b/sub'), 'packages/b/src/sub.ts')
  assert.deepEqual(resolve('packages/b/src/main.ts', 'b2'), {
    kind: 'package',
    name: 'b2',
    subpath: '.',
  })
})

test('a package that is linked into node_modules is ours, one that lives there is not', (t) => {
  const root = tempFolder(t, {
    'a/index.ts': '',
    'b/package.json': '{ "name": "linked", "main": "./index.js" }',
    'b/index.ts': '',
    'node_modules/foreign/package.json': '{ "name": "foreign", "main": "./index.js" }',
    'node_modules/foreign/index.js': '',
  })
  mkdirSync(path.join(root, 'node_modules'), { recursive: true })
  symlinkSync('../b', path.join(root, 'node_modules/linked'))
  const resolver = new Resolver([path.join(root, 'a/index.ts')])
  assert.deepEqual(resolver.resolveImport(path.join(root, 'a/index.ts'), 'linked'), {
    kind: 'file',
    file: path.join(root, 'b/index.ts'),
  })
  assert.equal(resolver.resolveImport(path.join(root, 'a/index.ts'), 'foreign').kind, 'package')
})

test('internal imports of a package are resolved', (t) => {
  const resolve = resolving(t, {
    'package.json': JSON.stringify({
      name: 'x',
      imports: { '#db/*': './src/db/*.ts', '#dep': 'pg', '#fs': { node: 'node:fs' } },
    }),
    'src/db/pool.ts': '',
  })
  assert.equal(resolve('src/a.ts', '#db/pool'), 'src/db/pool.ts')
  assert.deepEqual(resolve('src/a.ts', '#dep'), { kind: 'package', name: 'pg', subpath: '.' })
  assert.deepEqual(resolve('src/a.ts', '#fs'), { kind: 'node', module: 'fs' })
  assert.deepEqual(resolve('src/a.ts', '#nothing'), unresolved)
})
