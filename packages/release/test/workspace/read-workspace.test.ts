import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { HeddleError, isError } from '@heddle/core'
import { readWorkspace } from '../../src/workspace/read-workspace.ts'
import type { Workspace } from '../../src/model.ts'
import type { PlanOptions } from '../../src/plan/assemble.ts'
import { planFromManifests } from '../../src/plan/from-manifests.ts'
import { makeTree, manifest, problemsOf, type Content } from './tree.ts'

const names = ({ packages }: Workspace): string[] => [...packages.keys()]
const root = { name: 'root', private: true }

test('npm: a list of patterns; the lock file identifies the tool', async (t) => {
  const folder = await makeTree(t, {
    'package.json': { ...root, workspaces: ['packages/*', 'tools'] },
    'package-lock.json': '{}',
    'packages/b/package.json': manifest('b', '2.0.0', { dependencies: { a: '^1.0.0', left: '1' } }),
    'packages/a/package.json': manifest('a'),
    'packages/none/readme.md': 'no package',
    'tools/package.json': manifest('tools', '0.1.0', { private: true }),
  })
  const workspace = await readWorkspace(folder)
  assert.equal(workspace.root, folder)
  assert.equal(workspace.tool, 'npm')
  assert.deepEqual(names(workspace), ['a', 'b', 'root', 'tools'])
  const b = workspace.packages.get('b')!
  assert.equal(b.version, '2.0.0')
  assert.equal(b.folder, path.join(folder, 'packages/b'))
  assert.equal(b.manifestFile, path.join(folder, 'packages/b/package.json'))
  assert.deepEqual(b.dependencies, [{ name: 'a', group: 'dependencies', range: '^1.0.0' }])
  assert.equal(workspace.packages.get('tools')!.isPrivate, true)
  assert.equal(workspace.packages.get('a')!.isPrivate, false)
})

test('npm: a later pattern adds back packages that an earlier one excluded; the object form', async (t) => {
  const files = {
    'packages/a/package.json': manifest('a'),
    'packages/b/package.json': manifest('b'),
    'packages/c/package.json': manifest('c'),
  }
  const patterns = ['packages/*', '!packages/{a,b}', './packages/b/']
  const npm = await makeTree(t, {
    ...files,
    'package.json': { workspaces: { packages: patterns } },
  })
  assert.deepEqual(names(await readWorkspace(npm)), ['b', 'c'])
  const yarn = await makeTree(t, {
    ...files,
    'package.json': { workspaces: patterns },
    'yarn.lock': '',
  })
  const workspace = await readWorkspace(yarn)
  assert.equal(workspace.tool, 'yarn')
  assert.deepEqual(names(workspace), ['c'], 'for the others `!` wins wherever it stands')
})

test('pnpm: negation anywhere, the root is a package, catalogs', async (t) => {
  const folder = await makeTree(t, {
    'package.json': manifest('whole', '3.0.0'),
    'pnpm-workspace.yaml': [
      'packages:',
      "  - 'packages/**'",
      "  - '!**/test/**'",
      'catalog:',
      '  react: ^19.0.0',
      'catalogs:',
      '  old:',
      '    react: ^18.0.0',
    ].join('\n'),
    'packages/a/package.json': manifest('a'),
    'packages/a/test/fixture/package.json': manifest('fixture'),
    'packages/a/node_modules/x/package.json': manifest('x'),
    'packages/deep/er/package.json': manifest('deeper'),
    'packages/.hidden/package.json': manifest('hidden'),
    'other/package.json': manifest('other'),
  })
  const workspace = await readWorkspace(folder)
  assert.equal(workspace.tool, 'pnpm')
  assert.deepEqual(names(workspace), ['a', 'deeper', 'whole'])
  assert.equal(workspace.catalogs.get('default')!.get('react'), '^19.0.0')
  assert.equal(workspace.catalogs.get('old')!.get('react'), '^18.0.0')
})

test('pnpm: packages that `workspaces` of package.json does not list are released only by name', async (t) => {
  const folder = await makeTree(t, {
    'package.json': { ...root, workspaces: ['packages/*'] },
    'pnpm-workspace.yaml': 'packages:\n  - packages/**\n  - tools\n',
    'packages/a/package.json': manifest('a', '1.0.0', {
      devDependencies: { tools: 'workspace:*' },
    }),
    'packages/a/fixtures/x/package.json': manifest('fixture-x'),
    'packages/a/fixtures/y/package.json': manifest('fixture-y', '1.0.0', { private: true }),
    'tools/package.json': manifest('tools', '0.0.1', { private: true }),
  })
  const workspace = await readWorkspace(folder)
  const statusOf = async (options?: PlanOptions): Promise<string[]> =>
    [...(await planFromManifests(workspace, options)).packages.values()].map(
      ({ package: { name }, status }) => `${name} ${status}`,
    )
  const others = ['fixture-y private', 'root private', 'tools private']
  assert.deepEqual(await statusOf(), ['a included', 'fixture-x excluded', ...others])
  assert.deepEqual(await statusOf({ include: ['*'] }), [
    'a included',
    'fixture-x excluded',
    ...others,
  ])
  assert.deepEqual(await statusOf({ include: ['fixture-x'] }), [
    'a excluded',
    'fixture-x included',
    ...others,
  ])
  assert.deepEqual(workspace.warnings, [
    'pnpm-workspace.yaml lists packages that "workspaces" of package.json does not list; they are not released: fixture-x. Add them there, or name them with include.',
  ])
})

test('pnpm: `workspaces` of package.json that means no member is not about this workspace', async (t) => {
  const folder = await makeTree(t, {
    'package.json': { ...root, workspaces: ['old/*', '../../elsewhere'] },
    'pnpm-workspace.yaml': 'packages:\n  - packages/*\n',
    'old/readme.md': 'none',
    'packages/a/package.json': manifest('a'),
  })
  const { packages, warnings } = await readWorkspace(folder)
  assert.deepEqual([packages.get('a')!.leftOut, warnings], [undefined, undefined])
})

test('pnpm: settings without packages make no workspace', async (t) => {
  const folder = await makeTree(t, {
    'package.json': manifest('alone'),
    'pnpm-workspace.yaml': 'catalog:\n  a: "1"\n',
  })
  const workspace = await readWorkspace(folder)
  assert.equal(workspace.tool, 'single')
  assert.deepEqual(names(workspace), ['alone'])
  assert.equal(workspace.catalogs.get('default')!.get('a'), '1')
})

test('yarn berry: packageManager identifies the tool, .yarnrc.yml has the catalogs', async (t) => {
  const folder = await makeTree(t, {
    'package.json': { ...root, packageManager: 'yarn@4.10.0', workspaces: ['packages/*'] },
    'package-lock.json': '{}',
    '.yarnrc.yml': 'catalog:\n  lodash: ^4.0.0\n',
    'packages/a/package.json': manifest('a'),
  })
  const workspace = await readWorkspace(folder)
  assert.equal(workspace.tool, 'yarn')
  assert.equal(workspace.catalogs.get('default')!.get('lodash'), '^4.0.0')
})

test('bun: catalogs are read from package.json, inside of workspaces', async (t) => {
  const folder = await makeTree(t, {
    'package.json': {
      ...root,
      workspaces: {
        packages: ['packages/*'],
        catalog: { react: '^19' },
        catalogs: { test: { jest: '30' } },
      },
    },
    'bun.lock': '{}',
    'packages/a/package.json': manifest('a'),
  })
  const workspace = await readWorkspace(folder)
  assert.equal(workspace.tool, 'bun')
  assert.deepEqual([...workspace.catalogs.keys()], ['default', 'test'])
  assert.equal(workspace.catalogs.get('test')!.get('jest'), '30')
})

test('uv: members and exclude, the root without a build system is not uploaded', async (t) => {
  const folder = await makeTree(t, {
    'pyproject.toml': [
      '[project]',
      'name = "Whole"',
      'version = "0.1.0"',
      '[tool.uv.workspace]',
      'members = ["packages/*"]',
      'exclude = ["packages/seeds"]',
    ].join('\n'),
    'packages/core/pyproject.toml': '[project]\nname = "My.Core_lib"\nversion = "1.2.3rc1"\n',
    'packages/web/pyproject.toml': [
      '[project]',
      'name = "web"',
      'version = "2.0"',
      'dependencies = ["my_core-lib[fast, tls] >=1.2 ; python_version < \'3.13\'", "requests"]',
      '[project.optional-dependencies]',
      'all = ["web[x]", "My-Core-Lib~=1.2"]',
      '[dependency-groups]',
      'dev = ["my-core-lib", { include-group = "lint" }]',
      'lint = ["ruff"]',
    ].join('\n'),
    'packages/seeds/pyproject.toml': '[project]\nname = "seeds"\n',
  })
  const workspace = await readWorkspace(folder)
  assert.equal(workspace.tool, 'uv')
  assert.deepEqual(names(workspace), ['my-core-lib', 'web', 'whole'])
  assert.equal(workspace.packages.get('whole')!.isPrivate, true)
  assert.equal(workspace.packages.get('my-core-lib')!.version, '1.2.3rc1')
  assert.deepEqual(workspace.packages.get('web')!.dependencies, [
    {
      name: 'my-core-lib',
      group: 'project.dependencies',
      range: "[fast, tls]>=1.2 ; python_version < '3.13'",
    },
    { name: 'my-core-lib', group: 'project.optional-dependencies.all', range: '~=1.2' },
    { name: 'my-core-lib', group: 'dependency-groups.dev', range: '' },
  ])
})

for (const [shape, project, isReleased] of [
  ['no project at its root', '', undefined],
  ['a root that is never built', '[project]\nname = "whole"\nversion = "1.0.0"\n', false],
  [
    'a root that is a package itself and needs a member',
    '[build-system]\nrequires = ["hatchling"]\n[project]\nname = "whole"\nversion = "1.0.0"\ndependencies = ["core"]\n',
    true,
  ],
] as const) {
  test(`uv: a workspace with ${shape} is planned`, async (t) => {
    const folder = await makeTree(t, {
      'pyproject.toml': `${project}[tool.uv.workspace]\nmembers = ["packages/*"]\n`,
      'packages/core/pyproject.toml': '[project]\nname = "core"\nversion = "1.0.0"\n',
    })
    const { packages } = await planFromManifests(await readWorkspace(folder))
    assert.equal(packages.get('core')!.status, 'included')
    const whole = packages.get('whole')
    if (isReleased === undefined) assert.equal(whole, undefined)
    else assert.equal(whole!.status, isReleased ? 'included' : 'private')
    if (isReleased === true) assert.deepEqual(whole!.after, ['core'])
  })
}

test('several ecosystems in one repository; names must not collide', async (t) => {
  const files = {
    'package.json': { ...root, workspaces: ['js/*'] },
    'pyproject.toml': '[tool.uv.workspace]\nmembers = ["py/*"]\n',
    'js/app/package.json': manifest('app', '1.0.0', { dependencies: { core: '^1.0.0' } }),
    'py/core/pyproject.toml': '[project]\nname = "core"\nversion = "1.0.0"\n',
  }
  const folder = await makeTree(t, files)
  const workspace = await readWorkspace(folder)
  assert.deepEqual(names(workspace), ['app', 'core', 'root'])
  assert.equal(workspace.tool, 'npm')
  assert.deepEqual(
    workspace.packages.get('app')!.dependencies,
    [],
    'core of npm is another package',
  )

  const both = await makeTree(t, { ...files, 'js/core/package.json': manifest('core') })
  await assert.rejects(readWorkspace(both), (error) => {
    assert.match(
      problemsOf(error).join(),
      /py\/core\/pyproject.toml the name "core" is taken by js\/core\/package.json/,
    )
    return true
  })
  const python = await readWorkspace(both, { ecosystem: 'python' })
  assert.deepEqual(names(python), ['core'])
  const npm = await readWorkspace(both, { ecosystem: () => Promise.resolve('npm') })
  assert.deepEqual(names(npm), ['app', 'core', 'root'])
})

test('of one ecosystem, manifests of the other are not read: mistakes in them do not matter', async (t) => {
  const folder = await makeTree(t, {
    'package.json': { name: 'root', version: '1.0.0', workspaces: ['packages/*'] },
    'pyproject.toml': '[tool.uv.workspace]\nmembers = ["packages/*"]\n',
    'packages/core/package.json': manifest('core', 'none'),
    'packages/core/pyproject.toml': '[project]\nname = "core"\nversion = "1.0.0"\n',
    'packages/nameless/package.json': { version: '1.0.0' },
  })
  const { packages, warnings } = await readWorkspace(folder, { ecosystem: 'python' })
  assert.deepEqual([[...packages.keys()], warnings], [['core'], undefined])
})

test('a package alone is found from a folder below it', async (t) => {
  const folder = await makeTree(t, {
    'package.json': manifest('alone', '0.1.0'),
    'src/deep/x.ts': '',
  })
  const workspace = await readWorkspace(path.join(folder, 'src/deep'))
  assert.equal(workspace.tool, 'single')
  assert.equal(workspace.root, folder)
  assert.deepEqual(names(workspace), ['alone'])
})

test('W3: a member finds its workspace; a package that no workspace lists stands alone', async (t) => {
  const folder = await makeTree(t, {
    'package.json': { ...root, workspaces: ['packages/*'] },
    'packages/a/package.json': manifest('a'),
    'packages/a/src/x.ts': '',
    'scratch/package.json': manifest('scratch'),
  })
  assert.equal((await readWorkspace(path.join(folder, 'packages/a/src'))).root, folder)
  const alone = await readWorkspace(path.join(folder, 'scratch'))
  assert.equal(alone.tool, 'single')
  assert.deepEqual(names(alone), ['scratch'])
})

test('M2: a workspace inside of a workspace may be a member but is not entered', async (t) => {
  const folder = await makeTree(t, {
    'package.json': { ...root, workspaces: ['**'] },
    'a/package.json': manifest('a'),
    'inner/package.json': manifest('inner', '1.0.0', { workspaces: ['parts/*'] }),
    'inner/parts/p/package.json': manifest('a'),
    'pnpm/pnpm-workspace.yaml': 'packages: ["*"]',
    'pnpm/q/package.json': manifest('q'),
  })
  const workspace = await readWorkspace(folder)
  assert.deepEqual(names(workspace), ['a', 'inner', 'root'])
  assert.deepEqual(workspace.warnings, [
    'inner is a workspace of its own: packages below it are not released with this one.',
    'pnpm is a workspace of its own: packages below it are not released with this one.',
  ])
  const inner = await readWorkspace(path.join(folder, 'inner'))
  assert.deepEqual(names(inner), ['a', 'inner'])
  assert.equal(inner.warnings, undefined)
})

test('M3, M4: links are followed once, and never in circles', async (t) => {
  const folder = await makeTree(t, {
    'package.json': { ...root, workspaces: ['packages/**', 'linked/*'] },
    'packages/a/package.json': manifest('a'),
    'packages/a/up@': '../..',
    'packages/twin@': 'a',
    'packages/broken@': 'nowhere',
    'elsewhere/e/package.json': manifest('e'),
    'linked/e@': '../elsewhere/e',
  })
  const workspace = await readWorkspace(folder)
  assert.deepEqual(names(workspace), ['a', 'e', 'root'])
  assert.equal(workspace.packages.get('a')!.folder, path.join(folder, 'packages/a'))
})

test('aliases and folders mean packages of the workspace', async (t) => {
  const dependencies = {
    core: 'npm:@acme/core@^1.0.0',
    bare: 'npm:@acme/core',
    alias: 'workspace:@acme/core@*',
    '@acme/core': 'workspace:../core',
    folder: 'link:../core',
    yarn: 'workspace:packages/core',
    core2: 'npm:core2@1.0.0',
    far: 'file:../../far',
  }
  const folder = await makeTree(t, {
    'package.json': { ...root, workspaces: ['packages/*'] },
    'packages/core/package.json': manifest('@acme/core'),
    'packages/app/package.json': manifest('app', '1.0.0', { dependencies }),
  })
  const found = (await readWorkspace(folder)).packages.get('app')!.dependencies
  assert.ok(found.every(({ name }) => name === '@acme/core'))
  assert.deepEqual(
    found.map(({ alias }) => alias),
    ['core', 'bare', 'alias', undefined, 'folder', 'yarn'],
  )
})

test('W1: all problems are reported at once, with file, line and repair', async (t) => {
  const folder = await makeTree(t, {
    'package.json': { ...root, workspaces: ['packages/*', '../outside'] },
    'pyproject.toml': '[tool.uv.workspace]\nmembers = ["packages/*"]\n',
    'packages/comma/package.json': '{\n  "name": "comma"\n  "version": "1.0.0"\n}\n',
    'packages/early/package.json': '{\n  "name": "early",\n',
    'packages/version/package.json': '{\n  "name": "version",\n  "version": "1.0"\n}\n',
    'packages/prefix/package.json': manifest('prefix', 'v1.0.0'),
    'packages/space/package.json': manifest('space', '1.0.0 '),
    'packages/list/package.json': '[]',
    'packages/range/package.json':
      '{\n  "name": "range",\n  "version": "1.0.0",\n  "dependencies": {\n    "x": 1\n  }\n}',
    'packages/name/package.json': manifest('bad name'),
    'packages/one/package.json': manifest('twin'),
    'packages/two/package.json': manifest('twin'),
    'packages/toml/pyproject.toml': '[project]\nname = "toml"\nversion = 1.0.0\n',
    'packages/pep440/pyproject.toml': '[project]\nname = "pep440"\nversion = "one"\n',
    'packages/requirement/pyproject.toml':
      '[project]\nname = "requirement"\nversion = "1"\ndependencies = ["core 1"]\n',
    'packages/noproject/pyproject.toml': '[tool.x]\ny = 1\n',
  })
  const error = await readWorkspace(folder).then(
    () => assert.fail('read'),
    (thrown: unknown) => thrown,
  )
  assert.ok(isError(error, 'HDL_WORKSPACE_INVALID'))
  assert.deepEqual(problemsOf(error), [
    'package.json:4 "../outside" leads out of the workspace',
    'packages/comma/package.json:3 it is not valid JSON: comma expected',
    'packages/early/package.json:3 it is not valid JSON: property name expected',
    'packages/list/package.json:1 it is not a table of names and values',
    'packages/name/package.json:2 "name" is "bad name", which no registry accepts',
    'packages/noproject/pyproject.toml:1 it has no table [project]',
    'packages/pep440/pyproject.toml:3 `project.version` is "one", which is not a version of Python (PEP 440)',
    'packages/prefix/package.json:3 "version" is "v1.0.0", which is not a semantic version',
    'packages/range/package.json:5 the range of "x" in "dependencies" is not a string',
    'packages/requirement/pyproject.toml:4 "core 1" in `project.dependencies` is not a requirement (PEP 508)',
    'packages/space/package.json:3 "version" is "1.0.0 ", which is not a semantic version',
    'packages/toml/pyproject.toml:3 it is not valid TOML: illegal character in numeric literal',
    'packages/two/package.json the name "twin" is taken by packages/one/package.json',
    'packages/version/package.json:3 "version" is "1.0", which is not a semantic version',
  ])
  for (const { todo } of error.details.problems) assert.match(todo, /^[A-Z].*\.$/)
  assert.match(
    error.message,
    /comma\/package\.json:3: it is not valid JSON: comma expected\. Repair/,
  )
})

test('W4 a package without a version is listed and not released; private namesakes are left out', async (t) => {
  const folder = await makeTree(t, {
    'package.json': manifest('twin', '1.0.0', { private: true, workspaces: ['packages/*'] }),
    'packages/twin/package.json': manifest('twin'),
    'packages/site/package.json': { name: 'site' },
    'packages/fixture/package.json': { type: 'module' },
    'packages/same-1/package.json': { name: 'same', private: true },
    'packages/same-2/package.json': { name: 'same', private: true },
  })
  const { packages } = await readWorkspace(folder)
  assert.deepEqual([...packages.keys()], ['same', 'site', 'twin'])
  assert.equal(packages.get('site')!.isPrivate, true)
  assert.equal(packages.get('twin')!.isPrivate, false)
  assert.equal(packages.get('twin')!.folder, path.join(folder, 'packages/twin'))
})

test('W4 a member with a version and no name is left out with a warning, as pnpm leaves it out', async (t) => {
  const folder = await makeTree(t, {
    'package.json': { ...root, workspaces: ['packages/*'] },
    'packages/a/package.json': manifest('a'),
    'packages/bench/package.json': { version: '1.0.0' },
  })
  const { packages, warnings } = await readWorkspace(folder)
  assert.deepEqual([...packages.keys()], ['a', 'root'])
  assert.deepEqual(warnings, ['packages/bench/package.json has no "name": it is not released.'])
})

test('private packages may lack name and version', async (t) => {
  const folder = await makeTree(t, {
    'package.json': { workspaces: ['packages/*'] },
    'packages/a/package.json': { private: true },
    'packages/b/package.json': { name: 'b', private: true },
    'packages/c/package.json': '\ufeff{"name":"c","version":"1.0.0"}',
  })
  const workspace = await readWorkspace(folder)
  assert.deepEqual(names(workspace), ['b', 'c'])
  assert.equal(workspace.packages.get('b')!.version, '0.0.0')
})

test('a folder without a manifest, and one that does not exist', async (t) => {
  const folder = await makeTree(t, { '.git/HEAD': '', 'x/y.txt': '' })
  for (const start of [folder, path.join(folder, 'x'), path.join(folder, 'missing')]) {
    await assert.rejects(readWorkspace(start), { code: 'HDL_NO_WORKSPACE' })
  }
})

test('a broken root is reported, not overlooked', async (t) => {
  const folder = await makeTree(t, { 'package.json': '{', '.git/HEAD': '' })
  await assert.rejects(readWorkspace(folder), { code: 'HDL_WORKSPACE_INVALID' })
  const yaml = await makeTree(t, {
    'package.json': manifest('a'),
    'pnpm-workspace.yaml': 'packages: [',
  })
  await assert.rejects(readWorkspace(yaml), { code: 'HDL_WORKSPACE_INVALID' })
})

test('reading can be cancelled before and during it', async (t) => {
  const files: Record<string, ReturnType<typeof manifest>> = {
    'package.json': { ...root, workspaces: ['packages/*'] },
  }
  for (let i = 0; i < 40; i++) files[`packages/p${i}/package.json`] = manifest(`p${i}`)
  const folder = await makeTree(t, files)
  await assert.rejects(readWorkspace(folder, { signal: AbortSignal.abort('enough') }), (error) => {
    assert.ok(error instanceof HeddleError)
    assert.equal(error.code, 'HDL_CANCELLED')
    return true
  })
  const controller = new AbortController()
  const reading = readWorkspace(folder, { signal: controller.signal })
  controller.abort('enough')
  await assert.rejects(reading, { code: 'HDL_CANCELLED' })
  assert.equal((await readWorkspace(folder)).packages.size, 41)
})

test('the root of an npm or lerna workspace is released only when it is asked for', async (t) => {
  const statusOf = async (
    files: Readonly<Record<string, Content>>,
    options: PlanOptions = {},
  ): Promise<string> => {
    const folder = await makeTree(t, { 'packages/a/package.json': manifest('a'), ...files })
    const workspace = await readWorkspace(folder)
    const { packages, warnings = [] } = await planFromManifests(workspace, options)
    const { status, reason } = packages.get('tooling')!
    return [status, reason.split(':')[0], ...warnings.map((text) => text.split(',')[0])].join(' | ')
  }
  const open = manifest('tooling', '1.0.0', { workspaces: ['packages/*'] }) as object
  const npm = { 'package.json': open as Content }
  assert.equal(await statusOf(npm), 'excluded | root of the workspace')
  assert.equal(await statusOf(npm, { include: ['tooling'] }), 'included | version of package.json')
  assert.equal(
    await statusOf({ 'package.json': { ...open, private: false } }),
    'included | version of package.json',
  )
  const yarn = { ...open, packageManager: 'yarn@4.10.0' }
  assert.equal(
    await statusOf({ 'package.json': yarn }),
    'included | version of package.json | tooling',
  )
  assert.equal(
    await statusOf({ 'package.json': yarn, 'lerna.json': '{}' }),
    'excluded | root of the workspace',
  )
})

test('W4 a root that has the name of a member gives way to it', async (t) => {
  const folder = await makeTree(t, {
    'package.json': manifest('a', '9.0.0', { workspaces: ['packages/*'] }),
    'packages/a/package.json': manifest('a', '1.0.0'),
  })
  assert.equal((await readWorkspace(folder)).packages.get('a')!.version, '1.0.0')
})
