import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError } from '@heddle/core'
import { RangeResolver } from '../../src/manifest/resolve-range.ts'
import { planOf, planned } from '../plan-kit.ts'

const plan = planOf(
  '/repository',
  [
    { manifest: { name: '@a/app', version: '0.1.0' } },
    { manifest: { name: '@a/core', version: '1.2.0' }, becomes: '1.2.3' },
    { manifest: { name: 'major', version: '1.5.0' }, becomes: '2.0.0' },
    { manifest: { name: 'candidate', version: '1.0.0' }, becomes: '1.1.0-rc.1' },
    { manifest: { name: 'secret', version: '3.0.0', private: true } },
    {
      manifest: { project: { name: 'snake', version: '1.0.0' } },
      manifestName: 'pyproject.toml',
    },
  ],
  {
    default: { react: '^19.0.0', '@a/core': 'workspace:^', loop: 'catalog:', bad: 'link:../bad' },
    legacy: { react: '^18.2.0' },
  },
)
const resolver = new RangeResolver(planned(plan, '@a/app').package, plan)
const resolve = (dependency: string, range: string, group = 'dependencies'): string =>
  resolver.resolve({ group, dependency, range })

const matrix: [dependency: string, range: string, released: string][] = [
  ['@a/core', 'workspace:*', '1.2.3'],
  ['@a/core', 'workspace:', '1.2.3'],
  ['@a/core', 'workspace:^', '^1.2.3'],
  ['@a/core', 'workspace:~', '~1.2.3'],
  ['@a/core', 'workspace:1.x', '1.x'],
  ['@a/core', 'workspace:^1.0.0', '^1.0.0'],
  ['@a/core', 'workspace:>=', '>=1.2.3'],
  ['@a/core', 'workspace:<=', '<=1.2.3'],
  ['@a/core', '^0.9.0 || workspace:^', '^0.9.0 || ^1.2.3'],
  ['@a/core', 'workspace:* || ^3.0.0', '1.2.3 || ^3.0.0'],
  ['@a/core', 'workspace:^0.9.0||workspace:~', '^0.9.0 || ~1.2.3'],
  ['major', 'workspace:^1.0.0 || ^2.0.0', '^1.0.0 || ^2.0.0'],
  ['@a/core', 'workspace:../core', '1.2.3'],
  ['@a/core', 'workspace:packages/core', '1.2.3'],
  ['alias', 'workspace:../core', 'npm:@a/core@1.2.3'],
  ['alias', 'workspace:@a/core@^', 'npm:@a/core@^1.2.3'],
  ['alias', 'workspace:@a/core@*', 'npm:@a/core@1.2.3'],
  ['alias', 'npm:@a/core@workspace:^', 'npm:@a/core@^1.2.3'],
  ['alias', 'npm:major@workspace:~', 'npm:major@~2.0.0'],
  ['react', 'catalog:', '^19.0.0'],
  ['react', 'catalog:default', '^19.0.0'],
  ['react', 'catalog:legacy', '^18.2.0'],
  ['@a/core', 'catalog:', '^1.2.3'],
  ['@a/core', 'link:../core', '^1.2.3'],
  ['@a/core', 'file:../core', '^1.2.3'],
  ['@a/core', 'portal:../core', '^1.2.3'],
  ['@a/core', '../core', '^1.2.3'],
  ['alias', 'link:../core', 'npm:@a/core@^1.2.3'],
  ['@a/core', '^1.0.0', '^1.0.0'],
  ['@a/core', '*', '*'],
  ['@a/core', 'next', 'next'],
  ['major', '^1.0.0', '^2.0.0'],
  ['major', '~1.5.0', '~2.0.0'],
  ['major', '1.5.0', '2.0.0'],
  ['major', '>=1.0.0', '>=1.0.0'],
  ['major', '1.x', '2.x'],
  ['major', '1', '2.x'],
  ['major', '^0.9.0', '^0.9.0'],
  ['major', 'workspace:^1.2.0', '^2.0.0'],
  ['candidate', '^1.0.0', '^1.1.0-rc.1'],
  ['candidate', '1.x', '^1.1.0-rc.1'],
  ['express', '^5.0.0', '^5.0.0'],
  ['express', 'npm:^5.0.0', '^5.0.0'],
  ['other', 'npm:express', 'npm:express'],
  ['@types/react', 'npm:types-react', 'npm:types-react'],
  ['other', 'npm:@types/express', 'npm:@types/express'],
  ['other', 'npm:express@^5.0.0', 'npm:express@^5.0.0'],
  ['@std/path', 'jsr:^1.0.0', 'npm:@jsr/std__path@^1.0.0'],
  ['path', 'jsr:@std/path@^1.0.0', 'npm:@jsr/std__path@^1.0.0'],
  ['tool', 'github:user/tool', 'github:user/tool'],
  ['tool', 'https://example.com/tool.tgz', 'https://example.com/tool.tgz'],
]
for (const [dependency, range, released] of matrix) {
  test(`S63 "${dependency}": "${range}" is released as ${released}`, () => {
    assert.equal(resolve(dependency, range), released)
  })
}

const refused: [dependency: string, range: string, problem: RegExp][] = [
  ['ghost', 'workspace:*', /no package "ghost"/],
  ['@a/cor', 'workspace:*', /did you mean "@a\/core"/],
  ['snake', 'workspace:*', /no package "snake"/],
  ['secret', 'workspace:^', /private and never published/],
  ['vue', 'catalog:', /the catalog "default" lacks it/],
  ['react', 'catalog:ghost', /no catalog "ghost"/],
  ['loop', 'catalog:', /the catalog says catalog:/],
  ['bad', 'catalog:', /no package of the workspace is there/],
  ['out', 'link:../../elsewhere', /no package of the workspace is there/],
  ['out', 'file:./vendor/out.tgz', /no package of the workspace is there/],
  ['out', 'portal:../elsewhere', /no package of the workspace is there/],
  ['out', 'patch:out@npm%3A1.0.0#x.patch', /no package of the workspace is there/],
  ['out', '~/out', /no package of the workspace is there/],
  ['major', 'workspace:1.0.0 - 1.9.0', /1\.5\.0 becomes 2\.0\.0, which it does not allow/],
  ['major', '^0.9.0 || ^1.0.0', /1\.5\.0 becomes 2\.0\.0/],
  ['major', '^0.9.0 || workspace:^1.0.0', /1\.5\.0 becomes 2\.0\.0/],
  ['ghost', '^0.9.0 || workspace:^', /no package "ghost"/],
  ['secret', '^0.9.0 || workspace:^', /private and never published/],
  ['@a/core', 'workspace:>', /its own version 1\.2\.3 is not in it/],
  ['@a/core', '^1.0.0 || link:../core', /no package of the workspace is there/],
  ['@a/core', '^1.0.0 || workspace:../core', /is not a range/],
]
for (const [dependency, range, problem] of refused) {
  test(`S63 "${dependency}": "${range}" is refused`, () => {
    assert.throws(
      () => resolve(dependency, range),
      (error) => {
        assert.ok(isError(error, 'HDL_LOCAL_RANGE'))
        assert.match(error.details.problem, problem)
        assert.equal(error.details.package, '@a/app')
        assert.equal(error.details.group, 'dependencies')
        assert.match(error.message, /@a\/app: .* in dependencies is /)
        return true
      },
    )
  })
}

test('a private package is good enough for development', () => {
  assert.equal(resolve('secret', 'workspace:*', 'devDependencies'), '3.0.0')
})
