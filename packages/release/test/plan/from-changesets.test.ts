import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { planFromChangesets } from '../../src/plan/from-changesets.ts'
import { readWorkspace } from '../../src/workspace/read-workspace.ts'
import type { ReleasePlan } from '../../src/model.ts'
import { makeTree, manifest, problemsOf, type Content } from '../workspace/tree.ts'

/** A changeset as people write it. */
function intent(bumps: Readonly<Record<string, string>>, summary = 'What was done.'): string {
  const lines = Object.entries(bumps).map(([name, bump]) => `"${name}": ${bump}`)
  return ['---', ...lines, '---', '', summary, ''].join('\n')
}

interface Setup {
  readonly intents?: Readonly<Record<string, string>>
  readonly config?: Readonly<Record<string, unknown>>
  readonly files?: Readonly<Record<string, Content>>
  /** Versions and dependencies by name. */
  readonly packages: Readonly<Record<string, readonly [string, Readonly<Record<string, unknown>>?]>>
}

async function plan(
  t: TestContext,
  { intents = {}, config = {}, files = {}, packages }: Setup,
): Promise<ReleasePlan> {
  const tree: Record<string, Content> = {
    'package.json': { name: 'root', private: true, workspaces: ['packages/*'] },
    '.changeset/config.json': config,
    '.changeset/README.md': 'What this folder is.',
    ...files,
  }
  for (const [name, [version, more]] of Object.entries(packages)) {
    tree[`packages/${name.replace(/^@.*\//, '')}/package.json`] = manifest(name, version, more)
  }
  for (const [id, text] of Object.entries(intents)) tree[`.changeset/${id}.md`] = text
  return planFromChangesets(await readWorkspace(await makeTree(t, tree)))
}

async function versions(t: TestContext, setup: Setup): Promise<Record<string, string>> {
  const { packages } = await plan(t, setup)
  const included = [...packages].filter(([, { status }]) => status === 'included')
  return Object.fromEntries(included.map(([name, { version }]) => [name, version]))
}

const needs = (...names: readonly string[]): { dependencies: Record<string, string> } => ({
  dependencies: Object.fromEntries(names.map((name) => [name, '^1.0.0'])),
})

test('the biggest change of each package, with its words', async (t) => {
  const packages = { a: ['1.0.0'], b: ['0.2.0'], c: ['1.0.0'] } as const
  const found = await plan(t, {
    packages,
    intents: {
      one: intent({ a: 'patch', b: 'minor' }, 'First line.\n\nMore.'),
      two: intent({ a: 'minor' }, 'Add x'),
      three: '---\n---\n\nNothing to release.\n',
      four: intent({ c: 'none' }),
    },
  })
  assert.equal(found.source, 'changesets')
  assert.equal(found.packages.get('a')!.version, '1.1.0')
  assert.equal(found.packages.get('a')!.reason, 'minor: Add x')
  assert.equal(found.packages.get('b')!.version, '0.3.0')
  assert.equal(found.packages.get('b')!.reason, 'minor: First line.')
  assert.equal(found.packages.get('c')!.status, 'unchanged')
})

test('C2: dependents are released when the new version is outside of their range, or always', async (t) => {
  const packages = {
    a: ['1.0.0'],
    b: ['1.0.0', needs('a')],
    c: ['1.0.0', { dependencies: { b: 'workspace:*' } }],
    d: ['1.0.0', { devDependencies: { a: '^1.0.0' } }],
  } as const
  const minor = { one: intent({ a: 'minor' }) }
  assert.deepEqual(await versions(t, { packages, intents: minor }), { a: '1.1.0' })
  const major = { one: intent({ a: 'major' }) }
  assert.deepEqual(await versions(t, { packages, intents: major }), {
    a: '2.0.0',
    b: '1.0.1',
    c: '1.0.1',
  })
  const config = {
    ___experimentalUnsafeOptions_WILL_CHANGE_IN_PATCH: { updateInternalDependents: 'always' },
  }
  assert.deepEqual(await versions(t, { packages, intents: minor, config }), {
    a: '1.1.0',
    b: '1.0.1',
    c: '1.0.1',
  })
})

test('peers: a patch in version 3, a major release in version 2', async (t) => {
  const packages = { a: ['1.0.0'], b: ['1.0.0', { peerDependencies: { a: '^1.0.0' } }] } as const
  const intents = { one: intent({ a: 'minor' }) }
  const $schema = 'https://unpkg.com/@changesets/config@3.1.1/schema.json'
  assert.deepEqual(await versions(t, { packages, intents }), { a: '1.1.0' })
  assert.deepEqual(await versions(t, { packages, intents, config: { $schema } }), {
    a: '1.1.0',
    b: '2.0.0',
  })
  const unsafe = { onlyUpdatePeerDependentsWhenOutOfRange: true }
  const config = { $schema, ___experimentalUnsafeOptions_WILL_CHANGE_IN_PATCH: unsafe }
  assert.deepEqual(await versions(t, { packages, intents, config }), { a: '1.1.0' })
  const major = { one: intent({ a: 'major' }) }
  assert.deepEqual(await versions(t, { packages, intents: major, config }), {
    a: '2.0.0',
    b: '2.0.0',
  })
  assert.deepEqual(await versions(t, { packages, intents: major }), { a: '2.0.0', b: '1.0.1' })
})

test('fixed: all members get a version, counted from the highest', async (t) => {
  const packages = {
    '@x/a': ['1.0.0'],
    '@x/b': ['1.2.0'],
    '@x/c': ['1.0.0'],
    d: ['1.0.0', needs('@x/c')],
  } as const
  const intents = { one: intent({ '@x/a': 'minor' }) }
  const found = await plan(t, { packages, intents, config: { fixed: [['@x/*']] } })
  assert.deepEqual(
    [...found.packages].map(([name, { version, status }]) => [name, version, status]),
    [
      ['@x/a', '1.3.0', 'included'],
      ['@x/b', '1.3.0', 'included'],
      ['@x/c', '1.3.0', 'included'],
      ['d', '1.0.0', 'unchanged'],
      ['root', '0.0.0', 'private'],
    ],
  )
  assert.equal(found.packages.get('@x/c')!.reason, 'fixed with @x/a')
})

test('linked: only members that are released, at the same version', async (t) => {
  const packages = { a: ['1.0.0'], b: ['1.2.0'], c: ['1.5.0'] } as const
  const intents = { one: intent({ a: 'minor', b: 'patch' }) }
  assert.deepEqual(
    await versions(t, { packages, intents, config: { linked: [['a', 'b', 'c']] } }),
    {
      a: '1.6.0',
      b: '1.6.0',
    },
  )
})

test('C3: ignored packages stay; an intent that mixes them with released ones is refused', async (t) => {
  const packages = { a: ['1.0.0'], b: ['1.0.0', needs('a')] } as const
  const config = { ignore: ['b'] }
  const found = await plan(t, { packages, config, intents: { one: intent({ a: 'major' }) } })
  assert.equal(found.packages.get('b')!.status, 'unchanged')
  assert.equal(found.packages.get('b')!.reason, 'ignored by the changesets config')
  await assert.rejects(
    plan(t, { packages, config, intents: { one: intent({ a: 'major', b: 'patch' }) } }),
    (error) => {
      assert.deepEqual(problemsOf(error), [
        '.changeset/one.md it names "b", which is not released, beside packages that are',
      ])
      return true
    },
  )
})

test('C3: a package that pnpm lists and `workspaces` does not gets no version and keeps its changeset', async (t) => {
  const packages = { a: ['1.0.0'] } as const
  const files = {
    'pnpm-workspace.yaml': 'packages:\n  - packages/**\n',
    'packages/a/fixtures/x/package.json': manifest('x', '0.0.0', {
      private: true,
      dependencies: { a: 'workspace:*' },
    }),
  }
  const $schema = 'https://unpkg.com/@changesets/config@2.3.0/schema.json'
  const intents = { one: intent({ a: 'patch' }), two: intent({ x: 'minor' }) }
  const found = await plan(t, { packages, files, intents, config: { $schema } })
  assert.deepEqual(
    ['a', 'x'].map((name) => found.packages.get(name)!.version),
    ['1.0.1', '0.0.0'],
  )
})

test('private packages: left alone in version 3, versioned in version 2', async (t) => {
  const packages = { a: ['1.0.0'], secret: ['1.0.0', { private: true }] } as const
  const intents = { one: intent({ secret: 'minor' }) }
  const $schema = 'https://unpkg.com/@changesets/config@2.3.0/schema.json'
  assert.equal((await plan(t, { packages, intents })).packages.get('secret')!.version, '1.0.0')
  const old = (await plan(t, { packages, intents, config: { $schema } })).packages.get('secret')!
  assert.equal(old.version, '1.1.0')
  assert.equal(old.status, 'private')
})

test('prereleases: counters continue, used intents do not count, all dependents are released', async (t) => {
  const packages = {
    a: ['1.1.0-next.0'],
    b: ['1.0.0', { dependencies: { a: '^1.1.0-next.0' } }],
  } as const
  const pre = { mode: 'pre', tag: 'next' }
  const used = { '.changeset/pre.json': pre, '.changeset/pre/one.md': intent({ a: 'major' }) }
  assert.deepEqual(await versions(t, { packages, files: used }), {})
  const more = { two: intent({ a: 'minor' }) }
  const found = await plan(t, { packages, files: used, intents: more })
  assert.equal(found.packages.get('a')!.version, '1.1.0-next.1')
  assert.equal(found.packages.get('a')!.distTag, 'next')
  assert.equal(found.packages.get('b')!.status, 'unchanged', '^1.1.0-next.0 allows 1.1.0-next.1')

  const old = { '.changeset/pre.json': { ...pre, initialVersions: {}, changesets: ['one'] } }
  const both = { one: intent({ a: 'major' }), two: intent({ a: 'patch' }) }
  assert.deepEqual(await versions(t, { packages, files: old, intents: both }), {
    a: '1.1.0-next.1',
  })
})

test('a prerelease makes dependents fall out of their range', async (t) => {
  const packages = { a: ['1.0.0'], b: ['1.0.0', needs('a')] } as const
  const files = { '.changeset/pre.json': { mode: 'pre', tag: 'rc' } }
  assert.deepEqual(
    await versions(t, { packages, files, intents: { one: intent({ a: 'minor' }) } }),
    {
      a: '1.1.0-rc.0',
      b: '1.0.1-rc.0',
    },
  )
})

test('leaving a prerelease: all intents count again, and whatever was a prerelease is released', async (t) => {
  const packages = { a: ['1.1.0-rc.2'], b: ['1.0.1-rc.0', needs('a')], c: ['1.0.0'] } as const
  const files = {
    '.changeset/pre.json': { mode: 'exit', tag: 'rc' },
    '.changeset/pre/one.md': intent({ a: 'minor' }),
  }
  assert.deepEqual(await versions(t, { packages, files }), { a: '1.1.0', b: '1.0.1' })
  assert.equal((await plan(t, { packages, files })).packages.get('a')!.distTag, 'latest')
})

test('access: the manifest takes precedence over the config', async (t) => {
  const packages = {
    a: ['1.0.0'],
    b: ['1.0.0', { publishConfig: { access: 'restricted' } }],
  } as const
  const found = await plan(t, {
    packages,
    config: { access: 'public' },
    intents: { one: intent({ a: 'patch', b: 'patch' }) },
  })
  assert.equal(found.packages.get('a')!.access, 'public')
  assert.equal(found.packages.get('b')!.access, 'restricted')
})

test('all mistakes are reported at once, with their lines', async (t) => {
  const packages = { core: ['1.0.0'], other: ['1.0.0'] } as const
  const intents = {
    front: 'no front matter',
    name: intent({ core: 'patch', croe: 'patch' }),
    type: intent({ core: 'huge' }),
    yaml: '---\n"core": patch\n"other: minor\n---\n',
  }
  const config = { fixed: [['core'], ['co*']], linked: 'core', ignore: ['nobody'] }
  const files = { '.changeset/pre.json': { mode: 'on' } }
  await assert.rejects(plan(t, { packages, intents, config, files }), (error) => {
    assert.deepEqual(problemsOf(error), [
      '.changeset/config.json "core" is in several groups of `fixed` and `linked`',
      '.changeset/config.json:10 `linked` is not a list',
      '.changeset/config.json:11 "nobody" in `ignore` matches no package',
      '.changeset/front.md:1 it does not start with a part between two lines `---`',
      '.changeset/name.md:3 the workspace has no package "croe"',
      '.changeset/pre.json:2 it has no `mode` and `tag`',
      '.changeset/type.md:2 "core" has the change "huge"',
      ...problemsOf(error).filter((text) => text.includes('yaml.md')),
    ])
    assert.match(problemsOf(error).at(-1)!, /^\.changeset\/yaml\.md:[34] it is not valid YAML/)
    return true
  })
})

test('accepts line ends of Windows and comments, and a missing folder', async (t) => {
  const packages = { a: ['1.0.0'] } as const
  const windows = '\r\n---\r\n# why\r\n"a": minor\r\n---\r\n\r\nText\r\n'
  const found = await plan(t, { packages, intents: { one: windows } })
  assert.equal(found.packages.get('a')!.reason, 'minor: Text')
  const folder = await makeTree(t, { 'package.json': manifest('alone') })
  const none = await planFromChangesets(await readWorkspace(folder))
  assert.equal(none.packages.get('alone')!.status, 'unchanged')
})
