import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError } from '@heddle/core'
import { planFromManifests } from '../../src/plan/from-manifests.ts'
import type { PlanOptions } from '../../src/plan/assemble.ts'
import type { ReleasePlan } from '../../src/model.ts'
import { sketchWorkspace } from './sketch.ts'

const workspace = sketchWorkspace({
  '@acme/core': {},
  '@acme/http': { needs: { '@acme/core': 'workspace:^' } },
  '@acme/cli': { needs: { '@acme/http': 'workspace:^', 'dev:@acme/tools': 'workspace:*' } },
  '@acme/tools': { private: true },
  next: { version: '2.0.0-beta.1' },
})

const statuses = ({ packages }: ReleasePlan): Record<string, string> =>
  Object.fromEntries([...packages].map(([name, { status }]) => [name, status]))
const plan = (options?: PlanOptions): Promise<ReleasePlan> => planFromManifests(workspace, options)

test('a group with a name that no package has is refused, whatever the plan comes from', async () => {
  await assert.rejects(
    plan({ groups: [['@acme/core', '@acme/htpp']] }),
    (error) =>
      isError(error, 'HDL_BAD_OPTION') && /groups.*such as "@acme\/http"/.test(error.message),
  )
})

test('every package of the workspace has a place in the plan', async () => {
  const { packages, source, warnings } = await plan()
  assert.equal(source, 'manifests')
  assert.equal(warnings, undefined)
  assert.deepEqual(
    [...packages.keys()],
    ['@acme/cli', '@acme/core', '@acme/http', '@acme/tools', 'next'],
  )
  const http = packages.get('@acme/http')!
  assert.deepEqual(
    { ...http, package: http.package.name },
    {
      package: '@acme/http',
      version: '1.0.0',
      status: 'included',
      reason: 'version of package.json',
      after: ['@acme/core'],
      level: 1,
      distTag: 'latest',
    },
  )
  assert.equal(packages.get('@acme/tools')!.status, 'private')
  assert.equal(packages.get('@acme/tools')!.reason, '"private": true')
  assert.equal(packages.get('next')!.distTag, 'beta')
})

test('publishConfig sets tag and access', async () => {
  const manifest = { publishConfig: { tag: 'legacy', access: 'public' } }
  const { packages } = await planFromManifests(sketchWorkspace({ a: { manifest } }))
  assert.equal(packages.get('a')!.distTag, 'legacy')
  assert.equal(packages.get('a')!.access, 'public')
})

test('include adds dependencies; exclude removes them, with a warning', async () => {
  const included = await plan({ include: ['@acme/cli'] })
  assert.deepEqual(statuses(included), {
    '@acme/cli': 'included',
    '@acme/core': 'included',
    '@acme/http': 'included',
    '@acme/tools': 'private',
    next: 'excluded',
  })
  assert.equal(included.packages.get('next')!.reason, 'not included')
  const without = await plan({ include: ['@acme/*'], exclude: ['@acme/core'] })
  assert.equal(without.packages.get('@acme/core')!.status, 'excluded')
  assert.deepEqual(without.packages.get('@acme/http')!.after, [])
  assert.deepEqual(without.warnings, [
    '@acme/http needs @acme/core, which is left out: 1.0.0 must be on the registry.',
  ])
})

test('a dependency that is left out and not on the registry is an error that names both', async () => {
  const asked: string[] = []
  const exclude = ['@acme/core']
  const onRegistry = async ({ name }: { name: string }, version: string): Promise<boolean> => {
    asked.push(`${name}@${version}`)
    return false
  }
  await assert.rejects(plan({ exclude, onRegistry }), (error) => {
    assert.ok(isError(error, 'HDL_PLAN_INVALID'))
    assert.match(
      error.message,
      /"@acme\/http" needs "@acme\/core", which is excluded here, and @acme\/core@1\.0\.0 is not on the registry/,
    )
    assert.deepEqual(
      error.details.problems.map((each) => [each.package, each.dependency]),
      [['@acme/http', '@acme/core']],
    )
    return true
  })
  assert.deepEqual(asked, ['@acme/core@1.0.0'])
  const allowed = await plan({ exclude, onRegistry: async () => true })
  assert.equal(allowed.warnings, undefined)
})

test('a pattern that matches nothing is refused, with the name that was probably meant', async () => {
  await assert.rejects(
    plan({ exclude: ['@acme/croe'] }),
    /Option "exclude" is "@acme\/croe".*such as "@acme\/core"/,
  )
  await assert.rejects(plan({ include: ['zzz*'] }), { code: 'HDL_BAD_OPTION' })
})

test('scenario 13: a circle is refused before anything else; one that is not released does not matter', async () => {
  const circle = sketchWorkspace({ a: { needs: { b: '1' } }, b: { needs: { a: '1' } }, x: {} })
  await assert.rejects(planFromManifests(circle), { code: 'HDL_PACKAGE_CYCLE' })
  const opened = await planFromManifests(circle, { exclude: ['b'] })
  assert.equal(opened.packages.get('a')!.status, 'included')
})

test('peers in a circle are a warning', async () => {
  const { warnings } = await planFromManifests(
    sketchWorkspace({ core: { needs: { plugin: '1' } }, plugin: { needs: { 'peer:core': '1' } } }),
  )
  assert.deepEqual(warnings, [
    'plugin lists core as a peer or in an extra, and core needs plugin: plugin is released without waiting for it.',
  ])
})

test('the plan names the packages that were left out of the workspace', async () => {
  const { warnings } = await planFromManifests(
    sketchWorkspace({ a: {} }, { warnings: ['x is not entered.'] }),
  )
  assert.deepEqual(warnings, ['x is not entered.'])
})
