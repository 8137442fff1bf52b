import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { codeOf, exportsOf, files, read, root, tiers, type Tier } from './tree.ts'

const load: Record<Tier, () => Promise<object>> = {
  index: () => import('@heddle/core'),
  lowlevel: () => import('@heddle/core/lowlevel'),
  testing: () => import('@heddle/core/testing'),
}

test('every public name is in exactly one tier', () => {
  const home = new Map<string, Tier>()
  for (const tier of tiers) {
    for (const { name } of exportsOf(tier)) {
      assert.ok(!home.has(name), `${name} is exported by ${home.get(name)} and by ${tier}`)
      home.set(name, tier)
    }
  }
  assert.ok(home.size > 0)
})

test('entry files check the version of Node first; besides that they only re-export, by name', () => {
  for (const tier of tiers) {
    const code = codeOf(`packages/core/src/${tier}.ts`)
    assert.match(read(`packages/core/src/${tier}.ts`), /^import '\.\/kernel\/node-version\.ts'$/m)
    const rest = code
      .replace(/^import +$/m, '')
      .replace(/^export (type )?\{[^}]*\} from +$/gm, '')
      .trim()
    assert.equal(rest, '', `${tier}.ts contains more than \`export { … } from '…'\``)
  }
})

test('a tier exports at run time exactly the names in its file', async () => {
  for (const tier of tiers) {
    const values = exportsOf(tier).filter(({ isType }) => !isType)
    assert.deepEqual(
      Object.keys(await load[tier]()).toSorted(),
      values.map(({ name }) => name).toSorted(),
    )
  }
})

test('package.json has an entry for each tier, with the source first', () => {
  const { exports } = JSON.parse(read('packages/core/package.json')) as {
    exports: Record<string, unknown>
  }
  for (const tier of tiers) {
    const entry = exports[tier === 'index' ? '.' : `./${tier}`]
    assert.deepEqual(Object.entries(entry ?? {}), [
      ['heddle-source', `./src/${tier}.ts`],
      ['types', `./dist/${tier}.d.ts`],
      ['default', `./dist/${tier}.js`],
    ])
    assert.ok(existsSync(path.join(root, 'packages/core/src', `${tier}.ts`)))
  }
  const others = ['./thread', './package.json']
  assert.equal(Object.keys(exports).length, tiers.length + others.length, others.join(' and '))
  // What threads of a bundle start from: an entry point for bundlers, without names.
  assert.deepEqual(Object.values(exports['./thread'] ?? {}), [
    './src/thread.ts',
    './dist/thread.d.ts',
    './dist/thread.js',
  ])
})

/** Types that users name when they write a part of their own: `cacheTierCases` takes such a tier. */
const implemented = new Set([
  'CacheTier',
  'CacheTransaction',
  'CommitGuard',
  'TierEntry',
  'TierMeta',
  'TierStats',
  'TierWrite',
])

test('every name in lowlevel has a user outside of core, or an example', () => {
  const users = files(
    'packages/{analyze,cli,release,server,worker}/{src,test}/**/*.ts',
    'bench/**/*.ts',
    'chaos/**/*.ts',
    'examples/**/*.ts',
    'scripts/*.ts',
    'docs/**/*.md',
    'README.md',
  )
    .map(read)
    .filter((text) => text.includes('@heddle/core/lowlevel'))
  const examples = files('packages/core/src/**/*.ts').flatMap((file) =>
    [...read(file).matchAll(/@example((?:(?!\*\/)[^])*)/g)].map(([, text]) => text!),
  )
  const unused = exportsOf('lowlevel')
    .map(({ name }) => name)
    .filter((name) => {
      const word = new RegExp(`\\b${name}\\b`)
      return !implemented.has(name) && ![...users, ...examples].some((text) => word.test(text))
    })
  assert.deepEqual(unused, [])
})
