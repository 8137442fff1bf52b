/** Archives of a small workspace, compared with those of the package manager that it belongs to. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { packNpm } from '../../src/pack/npm.ts'
import { planFromManifests } from '../../src/plan/from-manifests.ts'
import { readWorkspace } from '../../src/workspace/read-workspace.ts'
import { makeTree, type Content } from '../workspace/tree.ts'
import { Repository } from '../plan/repository.ts'

const programs = path.join(import.meta.dirname, '../../../../node_modules/.bin')

interface Manager {
  readonly files: Readonly<Record<string, Content>>
  /** Packs the package of the folder into `out`. */
  readonly pack: (folder: string, out: string) => void
}

const run = (cwd: string, file: string, ...args: string[]): void => {
  const env = {
    ...process.env,
    YARN_ENABLE_TELEMETRY: '0',
    npm_config_manage_package_manager_versions: 'false',
  }
  execFileSync(file, args, { cwd, env, stdio: 'pipe' })
}

const root = { name: 'root', private: true, workspaces: ['packages/*'] }

const managers: Readonly<Record<string, Manager>> = {
  npm: {
    files: { 'package.json': root, 'package-lock.json': { lockfileVersion: 3, packages: {} } },
    pack: (folder, out) => run(folder, 'npm', 'pack', '--pack-destination', out),
  },
  pnpm: {
    files: {
      'package.json': { name: 'root', private: true },
      'pnpm-workspace.yaml': 'packages:\n  - packages/*\ncatalog:\n  left-pad: ^1.3.0\n',
    },
    pack: (folder, out) => {
      // It reads the versions of the workspace where an installation links them.
      const scope = path.join(folder, 'node_modules/@m')
      mkdirSync(scope, { recursive: true })
      symlinkSync(path.join(folder, '../a'), path.join(scope, 'a'))
      run(folder, process.execPath, path.join(programs, 'pnpm'), 'pack', '--pack-destination', out)
    },
  },
  yarn: {
    files: { 'package.json': root, 'yarn.lock': '', '.yarnrc.yml': 'nodeLinker: node-modules\n' },
    pack: (folder, out) => {
      const yarn = path.join(programs, 'yarn')
      run(folder, process.execPath, yarn, 'pack', '--out', path.join(out, '%s-%v.tgz'))
    },
  },
}

const common: Readonly<Record<string, Content>> = {
  LICENSE: 'MIT\n',
  'README.md': '# of the root\n',
  'packages/a/package.json': {
    name: '@m/a',
    version: '1.2.3',
    main: 'lib/index.js',
    bin: { a: 'bin/a.js' },
    files: ['lib', '!lib/*.test.js'],
  },
  'packages/a/lib/index.js': '1\n',
  'packages/a/lib/index.test.js': '1\n',
  'packages/a/bin/a.js': '#!/usr/bin/env node\n',
  'packages/a/other.js': '1\n',
  'packages/a/CHANGELOG.md': '# a\n',
  'packages/b/package.json': {
    name: '@m/b',
    version: '2.0.0',
    publishConfig: { access: 'public' },
  },
  'packages/b/README.md': '# b\n',
  'packages/b/LICENSE': 'own\n',
  'packages/b/.npmignore': 'hidden\n',
  'packages/b/hidden/x.js': '1\n',
  'packages/b/index.js': '1\n',
  'packages/b/lib/b.js': '1\n',
  'packages/c/package.json': { name: '@m/c', version: '1.0.0' },
  'packages/c/vendor/LICENSE': 'of somebody else\n',
  'packages/c/index.js': '1\n',
}

function entriesOf(file: string): { files: string[]; programs: string[]; manifest: unknown } {
  const tar = (...args: string[]): string => execFileSync('tar', args, { encoding: 'utf8' })
  const executable = tar('tvzf', file)
    .split('\n')
    .filter((line) => /^-..x/.test(line))
  return {
    programs: executable.map((line) => line.split(' ').at(-1)!).toSorted(),
    files: tar('tzf', file).trim().split('\n').toSorted(),
    manifest: JSON.parse(tar('xzOf', file, 'package/package.json')),
  }
}

/** Fields that only some of the managers put in their place. */
const replaced = {
  publishConfig: {
    access: 'public',
    main: 'lib/b.js',
    types: 'lib/b.d.ts',
    exports: { '.': './lib/b.js' },
    bin: { b: 'lib/b.js' },
    engines: { node: '>=22' },
  },
}

async function compare(
  t: TestContext,
  { files, pack }: Manager,
  uses: object,
  more: object = {},
): Promise<void> {
  const b = common['packages/b/package.json'] as object
  const { folder } = await Repository.create(t, {
    ...common,
    ...files,
    'packages/b/package.json': { ...b, ...more, dependencies: uses },
  })
  chmodSync(path.join(folder, 'packages/b/README.md'), 0o755)
  const plan = await planFromManifests(await readWorkspace(folder))
  for (const name of ['a', 'b', 'c']) {
    const [out, own] = [await makeTree(t, {}), await makeTree(t, {})]
    pack(path.join(folder, 'packages', name), out)
    const theirs = entriesOf(path.join(out, readdirSync(out)[0]!))
    const packed = await packNpm(plan.packages.get(`@m/${name}`)!, plan, { folder: own })
    const ours = entriesOf(packed.artifacts[0]!.file)
    assert.deepEqual(ours.files, theirs.files, name)
    assert.deepEqual(ours.manifest, theirs.manifest, name)
    // npm makes programs executable when it installs them.
    if (plan.workspace.tool === 'pnpm') assert.deepEqual(ours.programs, theirs.programs, name)
  }
}

test('files and manifests are the same as with `npm pack`', (t) =>
  compare(t, managers['npm']!, { '@m/a': '^1.0.0' }, replaced))

test('files and manifests as `pnpm pack`, with the licence of the root', (t) =>
  compare(
    t,
    managers['pnpm']!,
    { '@m/a': 'workspace:^', 'left-pad': 'catalog:' },
    {
      ...replaced,
      peerDependencies: { '@m/a': '^0.9.0 || workspace:^' },
      packageManager: 'pnpm@10.0.0',
      pnpm: { overrides: {} },
      scripts: { prepare: 'node -p 1', postpublish: 'node -p 1', test: 'node -p 1' },
    },
  ))

test('files and manifests are the same as with `yarn pack`', (t) =>
  compare(t, managers['yarn']!, { '@m/a': 'workspace:^' }, replaced))
