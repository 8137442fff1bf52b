import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { test } from 'node:test'
import { extract } from 'tar'
import { packNpm, tarballName } from '../../src/pack/npm.ts'
import { pinInPlace } from '../../src/pin/pin-in-place.ts'
import { planFromDisk, planned, planOf, Tree } from '../plan-kit.ts'
import { commitAll, entriesOf, git, npmPackList } from './support.ts'

/** A workspace with what makes lists of files difficult. */
function workspace(): Tree {
  const tree = new Tree()
  tree.writeJson('package.json', { name: 'root', private: true, workspaces: ['packages/*'] })
  tree.write('.gitignore', 'dist\n*.log\n')
  tree.write(
    'packages/app/package.json',
    `{\n\t"name": "@a/app",\n\t"version": "1.0.0",\n\t"main": "dist/index.js",\n\t"bin": "dist/cli.js",\n\t"files": ["dist", "!dist/**/*.map", "extra.txt"],\n\t"dependencies": { "core": "workspace:^" }\n}\n`,
  )
  tree.write('packages/app/dist/index.js', 'export {}\n')
  tree.write('packages/app/dist/index.js.map', '{}')
  tree.write('packages/app/dist/cli.js', '#!/usr/bin/env node\n', 0o644)
  tree.write('packages/app/dist/tool.sh', '#!/bin/sh\n', 0o700)
  tree.write('packages/app/dist/deep/é ü.js', '\n')
  tree.write(`packages/app/dist/${'long/'.repeat(50)}name.js`, '\n')
  tree.write('packages/app/extra.txt', 'extra\n', 0o600)
  tree.write('packages/app/README.md', '# app\n')
  tree.write('packages/app/LICENSE', 'MIT\n')
  tree.write('packages/app/src/secret.ts', 'export {}\n')
  tree.write('packages/app/.npmrc', 'token\n')
  tree.writeJson('packages/core/package.json', { name: 'core', version: '2.0.0' })
  tree.write('packages/core/index.js', '\n')
  tree.write('packages/core/.npmignore', 'test\n')
  tree.write('packages/core/test/x.js', '\n')
  tree.write('packages/core/debug.log', '\n')
  tree.writeJson('packages/plain/package.json', { name: 'plain', version: '3.0.0' })
  tree.writeJson('packages/tool/package.json', {
    name: 'tool',
    version: '1.0.0',
    bin: { tool: './dist/cli.js' },
  })
  tree.write('packages/tool/dist/cli.js', '#!/usr/bin/env node\n')
  tree.write('packages/tool/dist/left-out.js', '\n')
  tree.write('packages/plain/lib/index.js', '\n')
  tree.write('packages/plain/debug.log', '\n')
  tree.write('packages/plain/dist/index.js', '\n')
  return tree
}

async function pack(tree: Tree, name: string, out: string, becomes = {}) {
  const plan = planFromDisk(tree, becomes)
  return packNpm(planned(plan, name), plan, { folder: out })
}

test('K3: manifest, name, version and hashes match the archive', async () => {
  using tree = workspace()
  using out = new Tree()
  const packed = await pack(tree, '@a/app', out.path, { '@a/app': '1.1.0', core: '2.1.0' })
  assert.equal(packed.name, '@a/app')
  assert.equal(packed.version, '1.1.0')
  assert.deepEqual(packed.manifest['dependencies'], { core: '^2.1.0' })
  const [artifact] = packed.artifacts
  assert.equal(artifact!.file, out.at('@a+app@1.1.0.tgz'))
  const bytes = fs.readFileSync(artifact!.file)
  assert.equal(artifact!.size, bytes.length)
  assert.equal(artifact!.integrity, `sha512-${createHash('sha512').update(bytes).digest('base64')}`)
  assert.equal(artifact!.sha1, createHash('sha1').update(bytes).digest('hex'))
  assert.equal(artifact!.sha256, createHash('sha256').update(bytes).digest('hex'))
  await extract({ file: artifact!.file, cwd: out.path })
  const text = fs.readFileSync(out.at('package/package.json'), 'utf8')
  assert.deepEqual(JSON.parse(text), packed.manifest)
  assert.match(text, /^\{\n\t"name": "@a\/app",\n\t"version": "1\.1\.0",\n/)
  assert.equal(fs.readFileSync(out.at('package/dist/deep/é ü.js'), 'utf8'), '\n')
  assert.ok(fs.existsSync(out.at('package', 'dist', 'long/'.repeat(50), 'name.js')))
})

test('K3: a negative zero is packed as the zero that JSON writes', async () => {
  using tree = workspace()
  using out = new Tree()
  const text = '{ "name": "plain", "version": "3.0.0", "config": { "list": [1, -0] } }'
  tree.write('packages/plain/package.json', text)
  const packed = await pack(tree, 'plain', out.path)
  assert.deepEqual(packed.manifest['config'], { list: [1, 0] })
})

test('K1: two packs are equal byte by byte, also after dates and modes have changed', async () => {
  using tree = workspace()
  using out = new Tree()
  const first = await pack(tree, '@a/app', out.at('first'))
  for (const name of ['dist/index.js', 'extra.txt', 'README.md']) {
    const file = tree.at('packages/app', name)
    fs.utimesSync(file, 1, 1)
    fs.chmodSync(file, 0o640)
  }
  const second = await pack(tree, '@a/app', out.at('second'))
  assert.deepEqual(
    fs.readFileSync(first.artifacts[0]!.file),
    fs.readFileSync(second.artifacts[0]!.file),
  )
  const header = fs.readFileSync(first.artifacts[0]!.file).subarray(0, 10)
  assert.deepEqual([...header], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255])
})

test('K1: entries are sorted, with fixed dates, and programs are executable', async () => {
  using tree = workspace()
  using out = new Tree()
  const { artifacts } = await pack(tree, '@a/app', out.path)
  const entries = await entriesOf(artifacts[0]!.file)
  const [first, ...rest] = entries.map((entry) => entry.path)
  assert.equal(first, 'package/package.json')
  assert.deepEqual(rest, rest.toSorted())
  assert.deepEqual(
    entries.filter(({ mode }) => mode !== 0o644).map(({ path: name, mode }) => [name, mode]),
    [
      // The modes that pnpm packs: a file marked as executable that is not a program of `bin` loses
      // the mark.
      ['package/dist/cli.js', 0o755],
    ],
  )
  assert.deepEqual([...new Set(entries.map(({ mtime }) => mtime))], ['1985-10-26T08:15:00.000Z'])
})

test('S72, K2: the tree is untouched', async () => {
  using tree = workspace()
  using out = new Tree()
  await commitAll(tree)
  for (const name of ['@a/app', 'core', 'plain', 'tool']) await pack(tree, name, out.path)
  assert.equal(await git(tree.path, 'status', '--porcelain', '--ignored'), '')
})

test('the files are the same as with `npm pack`', async (t) => {
  using tree = workspace()
  using out = new Tree()
  // npm refuses unknown options.
  const manifest = tree.at('packages/app/package.json')
  fs.writeFileSync(manifest, fs.readFileSync(manifest, 'utf8').replace('workspace:^', '^2.0.0'))
  for (const [name, folder] of [
    ['@a/app', 'packages/app'],
    ['core', 'packages/core'],
    ['plain', 'packages/plain'],
    ['tool', 'packages/tool'],
  ] as const) {
    await t.test(name, async () => {
      const packed = await pack(tree, name, out.path)
      const entries = await entriesOf(packed.artifacts[0]!.file)
      const ours = entries.map((entry) => entry.path.slice('package/'.length)).sort()
      assert.deepEqual(ours, await npmPackList(tree.path, folder))
    })
  }
})

test('the same files as `npm pack` for a package at the root of its workspace', async () => {
  using tree = new Tree()
  using out = new Tree()
  const manifest = { name: 'root', version: '1.0.0', workspaces: ['packages/*'] }
  tree.writeJson('package.json', manifest)
  tree.write('index.js', '\n')
  tree.write('packages.js', '\n')
  tree.writeJson('packages/inner/package.json', { name: 'inner', version: '1.0.0' })
  const plan = planOf(tree.path, [
    { manifest, folder: '.' },
    { manifest: { name: 'inner', version: '1.0.0' } },
  ])
  const { artifacts } = await packNpm(planned(plan, 'root'), plan, { folder: out.path })
  const entries = await entriesOf(artifacts[0]!.file)
  const ours = entries.map((entry) => entry.path.slice('package/'.length)).sort()
  assert.deepEqual(ours, await npmPackList(tree.path))
})

test('K1: journals and locks of this machine are in no archive', async () => {
  using tree = new Tree()
  using out = new Tree()
  const manifest = { name: 'alone', version: '1.0.0' }
  tree.writeJson('package.json', manifest)
  tree.write('index.js', '\n')
  tree.write('.heddle/releases.db', 'journal')
  tree.write('examples/.heddle/runs.db', 'journal')
  tree.write('examples/x.heddle', 'kept')
  const plan = planOf(tree.path, [{ manifest, folder: '.' }])
  const { artifacts } = await packNpm(planned(plan, 'alone'), plan, { folder: out.path })
  const names = (await entriesOf(artifacts[0]!.file)).map((entry) => entry.path)
  assert.deepEqual(names.sort(), [
    'package/examples/x.heddle',
    'package/index.js',
    'package/package.json',
  ])
})

test('a workspace that is reached by a symbolic link gives the same files', async () => {
  using tree = workspace()
  using out = new Tree()
  fs.symlinkSync(tree.path, out.at('link'))
  const direct = await pack(tree, '@a/app', out.at('direct'))
  const plan = planFromDisk(
    Object.assign(Object.create(Tree.prototype) as Tree, { path: out.at('link') }),
  )
  const linked = await packNpm(planned(plan, '@a/app'), plan, { folder: out.at('linked') })
  assert.equal(linked.artifacts[0]!.integrity, direct.artifacts[0]!.integrity)
})

test('S63: a local range is an error before anything is written', async () => {
  using tree = workspace()
  using out = new Tree()
  tree.writeJson('packages/core/package.json', {
    name: 'core',
    version: '2.0.0',
    dependencies: { x: 'link:../../x' },
  })
  await assert.rejects(pack(tree, 'core', out.at('new')), {
    code: 'HDL_LOCAL_RANGE',
    message: /^core: "x" in dependencies is "link:\.\.\/\.\.\/x"/,
  })
  assert.deepEqual(out.names(), [])
})

test('S63: a local range of a bundled package is found in the archive, which is removed', async () => {
  using tree = workspace()
  using out = new Tree()
  tree.writeJson('packages/core/package.json', {
    name: 'core',
    version: '2.0.0',
    dependencies: { third: '^1.0.0' },
    bundleDependencies: ['third'],
  })
  tree.writeJson('packages/core/node_modules/third/package.json', {
    name: 'third',
    version: '1.0.0',
    peerDependencies: { y: 'workspace:*' },
    devDependencies: { z: 'file:../z' },
  })
  await assert.rejects(pack(tree, 'core', out.path), {
    code: 'HDL_LOCAL_RANGE',
    message: /third\/package\.json.*"y" in peerDependencies/,
  })
  assert.deepEqual(out.names(), [])
})

test('publishConfig.directory: the files that the build has put there are packed', async () => {
  using tree = workspace()
  using out = new Tree()
  tree.writeJson('packages/core/package.json', {
    name: 'core',
    version: '2.0.0',
    publishConfig: { directory: 'out' },
  })
  tree.writeJson('packages/core/out/package.json', {
    name: 'core',
    version: '0.0.0',
    dependencies: { plain: 'workspace:*' },
  })
  tree.write('packages/core/out/built.js', '\n')
  const packed = await pack(tree, 'core', out.path)
  assert.deepEqual(packed.manifest, {
    name: 'core',
    version: '2.0.0',
    dependencies: { plain: '3.0.0' },
  })
  const entries = await entriesOf(packed.artifacts[0]!.file)
  assert.deepEqual(
    entries.map((entry) => entry.path),
    ['package/package.json', 'package/built.js'],
  )
})

test('pinned in place, the pinned manifest is packed', async () => {
  using tree = workspace()
  using out = new Tree()
  const plan = planFromDisk(tree, { core: '2.1.0' })
  const app = planned(plan, '@a/app')
  await using _pinned = await pinInPlace(plan, [app], { journalFolder: out.at('journal') })
  const packed = await packNpm(app, plan, { folder: out.at('archives'), manifestFrom: 'disk' })
  assert.deepEqual(packed.manifest['dependencies'], { core: '2.1.0' })
})

test('links, pipes and sockets are not packed, and none of them is opened', async () => {
  using tree = workspace()
  using out = new Tree()
  tree.write('secret.txt', 'secret\n')
  for (const name of ['plain', 'tool']) {
    const at = (file: string): string => tree.at(`packages/${name}/${file}`)
    fs.symlinkSync('../../secret.txt', at('leak.txt'))
    fs.symlinkSync('../..', at('up'))
    fs.symlinkSync('nowhere', at('broken.js'))
    execFileSync('mkfifo', [at('pipe')])
    await using _server = await listen(at('socket'))
    const packed = await pack(tree, name, out.path)
    const files = (await entriesOf(packed.artifacts[0]!.file)).map((entry) => entry.path)
    assert.deepEqual(
      files.filter((file) => /leak|up|broken|pipe|socket/.test(file)),
      [],
    )
  }
})

async function listen(file: string): Promise<AsyncDisposable> {
  const server = net.createServer()
  await new Promise<void>((done) => server.listen(file, done))
  return { [Symbol.asyncDispose]: () => new Promise((done) => server.close(() => done())) }
}

test('names that differ give files that differ', () => {
  assert.notEqual(tarballName('@a/b', '1.0.0'), tarballName('a-b', '1.0.0'))
  assert.notEqual(tarballName('a', '1.0.0-1.0.0'), tarballName('a-1.0.0', '1.0.0'))
  assert.notEqual(tarballName('@a/b-c', '1.0.0'), tarballName('@a-b/c', '1.0.0'))
})

test('K5: a cancelled pack leaves nothing, also one that is cancelled halfway', async () => {
  using tree = workspace()
  using out = new Tree()
  // A hole of four gigabytes: its archive takes no room and is not finished, on any machine, before the loop
  // has heard that it was begun.
  fs.truncateSync(tree.write('packages/plain/lib/large.bin', ''), 4 * 2 ** 30)
  const plan = planFromDisk(tree)
  const options = { folder: out.path, signal: AbortSignal.abort(new Error('enough')) }
  await assert.rejects(packNpm(planned(plan, 'plain'), plan, options), {
    code: 'HDL_CANCELLED',
    message: /Packing plain was cancelled \(user\): enough/,
  })
  const controller = new AbortController()
  const watcher = fs.watch(out.path, () => controller.abort(new Error('enough')))
  try {
    await assert.rejects(
      packNpm(planned(plan, 'plain'), plan, { folder: out.path, signal: controller.signal }),
      { code: 'HDL_CANCELLED' },
    )
  } finally {
    watcher.close()
  }
  assert.deepEqual(out.names(), [])
})

test('a folder that cannot be written to is reported', async () => {
  using tree = workspace()
  using out = new Tree()
  const file = out.write('file', '')
  await assert.rejects(pack(tree, 'plain', path.join(file, 'below')), { code: 'HDL_STORE_FAILED' })
})

test('in a workspace of pnpm, a package without a licence gets the one of the root', async () => {
  using tree = workspace()
  using out = new Tree()
  tree.write('LICENSE', 'of the root\n')
  const found = planFromDisk(tree)
  for (const [tool, expected] of [
    ['pnpm', ['package/LICENSE']],
    ['npm', []],
  ] as const) {
    const plan = { ...found, workspace: { ...found.workspace, tool } }
    const packed = await packNpm(planned(plan, 'plain'), plan, { folder: out.path })
    const names = (await entriesOf(packed.artifacts[0]!.file)).map((entry) => entry.path)
    assert.deepEqual(
      names.filter((name) => /license/i.test(name)),
      expected,
      tool,
    )
  }
})
