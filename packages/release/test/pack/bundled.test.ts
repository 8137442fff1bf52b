import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { extract } from 'tar'
import { packNpm } from '../../src/pack/npm.ts'
import { planFromDisk, planned, Tree } from '../plan-kit.ts'
import { entriesOf, npmPackList } from './support.ts'

function install(tree: Tree, folder: string, name: string, version = '1.0.0', more = {}): void {
  tree.writeJson(path.join(folder, 'package.json'), { name, version, ...more })
  tree.write(path.join(folder, 'index.js'), `// ${name} ${version}\n`)
}

async function packedFiles(tree: Tree, out: Tree, name = 'app'): Promise<string[]> {
  const plan = planFromDisk(tree)
  const { artifacts } = await packNpm(planned(plan, name), plan, { folder: out.path })
  const entries = await entriesOf(artifacts[0]!.file)
  return entries.map((entry) => entry.path.slice('package/'.length)).sort()
}

function app(more: object): Tree {
  const tree = new Tree()
  tree.writeJson('packages/app/package.json', { name: 'app', version: '1.0.0', ...more })
  return tree
}

test('bundled packages come with their dependencies, as with `npm pack`', async () => {
  using tree = app({ dependencies: { a: '1', other: '1' }, bundledDependencies: ['a'] })
  using out = new Tree()
  install(tree, 'packages/app/node_modules/a', 'a', '1.0.0', {
    dependencies: { b: '1', '@s/c': '1' },
    optionalDependencies: { gone: '1' },
    devDependencies: { dev: '1' },
  })
  install(tree, 'packages/app/node_modules/a/node_modules/b', 'b')
  install(tree, 'packages/app/node_modules/@s/c', '@s/c')
  install(tree, 'packages/app/node_modules/other', 'other')
  install(tree, 'packages/app/node_modules/dev', 'dev')
  const files = await packedFiles(tree, out)
  assert.deepEqual(files, [
    'node_modules/@s/c/index.js',
    'node_modules/@s/c/package.json',
    'node_modules/a/index.js',
    'node_modules/a/node_modules/b/index.js',
    'node_modules/a/node_modules/b/package.json',
    'node_modules/a/package.json',
    'package.json',
  ])
  assert.deepEqual(files, await npmPackList(tree.at('packages/app')))
})

test('a package that the workspace hoists is bundled where an install would put it', async () => {
  using tree = app({ dependencies: { a: '1' }, bundleDependencies: true })
  using out = new Tree()
  install(tree, 'node_modules/a', 'a', '1.0.0', { dependencies: { b: '1', a: '1' } })
  install(tree, 'node_modules/b', 'b', '1.0.0', { dependencies: { a: '1' } })
  assert.deepEqual(await packedFiles(tree, out), [
    'node_modules/a/index.js',
    'node_modules/a/package.json',
    'node_modules/b/index.js',
    'node_modules/b/package.json',
    'package.json',
  ])
})

test('a bundled package of the workspace gets the manifest of its release', async () => {
  using tree = app({ dependencies: { lib: 'workspace:*' }, bundleDependencies: ['lib'] })
  using out = new Tree()
  install(tree, 'packages/lib', 'lib', '2.0.0', {
    private: true,
    dependencies: { base: 'workspace:^' },
  })
  install(tree, 'packages/base', 'base', '3.0.0')
  fs.mkdirSync(tree.at('node_modules'))
  fs.symlinkSync('../packages/lib', tree.at('node_modules/lib'))
  fs.symlinkSync('../packages/base', tree.at('node_modules/base'))
  const plan = planFromDisk(tree)
  // lib is not installed: it is inside.
  const { artifacts } = await packNpm(planned(plan, 'app'), plan, { folder: out.path })
  await extract({ file: artifacts[0]!.file, cwd: out.path })
  const manifest = JSON.parse(
    fs.readFileSync(out.at('package/node_modules/lib/package.json'), 'utf8'),
  ) as Record<string, unknown>
  assert.deepEqual(manifest['dependencies'], { base: '^3.0.0' })
  assert.ok(fs.existsSync(out.at('package/node_modules/base/index.js')))
})

test('a bundled package that is not installed is an error, not left out', async () => {
  using tree = app({ dependencies: { a: '1' }, bundleDependencies: ['a'] })
  using out = new Tree()
  await assert.rejects(packedFiles(tree, out), {
    code: 'HDL_PACK_FAILED',
    message: /it bundles "a", which is not installed/,
  })
})

test('two versions for one place are an error', async () => {
  using tree = app({ dependencies: { a: '1', b: '1' }, bundleDependencies: ['a', 'b'] })
  using out = new Tree()
  install(tree, 'packages/app/node_modules/b', 'b', '2.0.0')
  install(tree, 'node_modules/a', 'a', '1.0.0', { dependencies: { b: '1' } })
  install(tree, 'node_modules/b', 'b', '1.0.0')
  await assert.rejects(packedFiles(tree, out), /which have the same place/)
})

test('files outside of the package cannot be listed', async () => {
  for (const file of ['../core', './../../x', '/../x']) {
    using tree = app({ files: ['lib', file] })
    using out = new Tree()
    await assert.rejects(packedFiles(tree, out), {
      code: 'HDL_PACK_FAILED',
      message: /which is outside of the package/,
    })
  }
})
