import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isError } from '@heddle/core'
import {
  biggerBump,
  compareVersions,
  firstVersion,
  isInitialDevelopment,
  nextVersion,
  prereleaseName,
  type Bump,
} from '../../src/plan/versions.ts'

test('npm: releases', () => {
  const cases: [string, Bump, string][] = [
    ['1.2.3', 'none', '1.2.3'],
    ['1.2.3', 'patch', '1.2.4'],
    ['1.2.3', 'minor', '1.3.0'],
    ['1.2.3', 'major', '2.0.0'],
    ['0.6.0-rc.1', 'minor', '0.6.0'],
    ['0.6.0-rc.1', 'patch', '0.6.0'],
    ['0.6.1-rc.1', 'minor', '0.7.0'],
    ['1.3.0-rc.1', 'major', '2.0.0'],
  ]
  for (const [current, bump, next] of cases) assert.equal(nextVersion('npm', current, bump), next)
})

test('prereleases count on, and start again when they lead somewhere else', () => {
  const cases: [string, Bump, string][] = [
    ['0.5.0', 'minor', '0.6.0-rc.0'],
    ['0.6.0-rc.0', 'patch', '0.6.0-rc.1'],
    ['0.6.0-rc.1', 'minor', '0.6.0-rc.2'],
    ['0.6.1-rc.4', 'minor', '0.7.0-rc.0'],
    ['1.3.0-rc.1', 'major', '2.0.0-rc.0'],
    ['2.0.0-rc.1', 'major', '2.0.0-rc.2'],
    ['1.0.0-rc', 'patch', '1.0.0-rc.0'],
    ['1.0.0-beta.5', 'patch', '1.0.0-rc.0'],
    ['1.0.0-rc.9', 'patch', '1.0.0-rc.10'],
  ]
  for (const [current, bump, next] of cases)
    assert.equal(nextVersion('npm', current, bump, 'rc'), next, current)
})

test('VN1: a prerelease that would come before the current version is refused', () => {
  assert.throws(
    () => nextVersion('npm', '1.0.0-rc.1', 'patch', 'beta'),
    (error) => {
      assert.ok(isError(error, 'HDL_BAD_OPTION'))
      assert.match(error.message, /1\.0\.0-beta\.0 would come before it/)
      return true
    },
  )
})

test('Python: the same in its own spelling', () => {
  const cases: [string, Bump, string | undefined, string][] = [
    ['1.2', 'patch', undefined, '1.2.1'],
    ['1.2.3', 'minor', undefined, '1.3.0'],
    ['1.2.3', 'minor', 'rc', '1.3.0rc0'],
    ['1.3.0rc0', 'minor', 'rc', '1.3.0rc1'],
    ['1.3.0b2', 'minor', 'rc', '1.3.0rc0'],
    ['1.3.0rc1', 'patch', undefined, '1.3.0'],
    ['1.2.3', 'patch', 'alpha', '1.2.4a0'],
    ['1.2.3', 'patch', 'dev', '1.2.4.dev0'],
    ['1.2.4.dev0', 'patch', 'dev', '1.2.4.dev1'],
    ['2!1.0', 'major', undefined, '2!2.0.0'],
    ['1.0.post1', 'patch', undefined, '1.0.1'],
  ]
  for (const [current, bump, prerelease, next] of cases) {
    assert.equal(nextVersion('python', current, bump, prerelease), next, current)
  }
  assert.throws(() => nextVersion('python', '1.0', 'patch', 'canary'), { code: 'HDL_BAD_OPTION' })
})

test('names of prereleases, first versions, 0.x', () => {
  assert.equal(prereleaseName('npm', '1.0.0'), undefined)
  assert.equal(prereleaseName('npm', '1.0.0-rc.1'), 'rc')
  assert.equal(prereleaseName('npm', '1.0.0-0'), 'next')
  assert.equal(prereleaseName('python', '1.0b1'), 'b')
  assert.equal(firstVersion('npm', '1.0.0'), '1.0.0')
  assert.equal(firstVersion('npm', '1.0.0', 'rc'), '1.0.0-rc.0')
  assert.equal(firstVersion('npm', '1.0.0-beta.1', 'rc'), '1.0.0-beta.1')
  assert.equal(firstVersion('python', '1.0', 'rc'), '1.0rc0')
  assert.equal(firstVersion('python', '1.0', 'dev'), '1.0.dev0')
  assert.deepEqual(['0.1.0', '0', '1.0.0', '10.0.0', '01.0'].map(isInitialDevelopment), [
    true,
    true,
    false,
    false,
    false,
  ])
})

const bumps: readonly Bump[] = ['none', 'patch', 'minor', 'major']
const number = fc.integer({ min: 0, max: 12 })
const version = fc
  .tuple(
    number,
    number,
    number,
    fc.option(fc.tuple(fc.constantFrom('alpha', 'beta', 'rc'), number)),
  )
  .map(
    ([major, minor, patch, pre]) =>
      `${major}.${minor}.${patch}${pre === null ? '' : `-${pre[0]}.${pre[1]}`}`,
  )

test('property VN1, VN2: the next version is greater, and never smaller for a bigger change', () => {
  const prerelease = fc.constantFrom(undefined, 'rc')
  fc.assert(
    fc.property(
      version,
      prerelease,
      fc.constantFrom('npm' as const, 'python' as const),
      (semantic, pre, ecosystem) => {
        const current =
          ecosystem === 'npm' ? semantic : semantic.replace(/-(alpha|beta|rc)\.(\d+)/, '$1$2')
        const nexts = bumps.map((bump) => nextVersion(ecosystem, current, bump, pre))
        assert.equal(nexts[0], current)
        for (const next of nexts.slice(1))
          assert.ok(compareVersions(ecosystem, next, current) > 0, `${current} → ${next}`)
        for (const [i, next] of nexts.slice(1).entries())
          assert.ok(compareVersions(ecosystem, next, nexts[i]!) >= 0)
      },
    ),
    { numRuns: 1_000 },
  )
})

test('property: any sequence of changes only ever goes up', () => {
  const steps = fc.array(fc.tuple(fc.constantFrom(...bumps), fc.boolean()), { maxLength: 12 })
  fc.assert(
    fc.property(
      version.filter((text) => !text.includes('-')),
      steps,
      (start, changes) => {
        let current = start
        for (const [bump, isPrerelease] of changes) {
          const next = nextVersion('npm', current, bump, isPrerelease ? 'rc' : undefined)
          assert.ok(bump === 'none' || compareVersions('npm', next, current) > 0)
          current = next
        }
      },
    ),
  )
})

test('the bigger of two changes', () => {
  for (const [i, a] of bumps.entries()) {
    for (const [j, b] of bumps.entries()) assert.equal(biggerBump(a, b), bumps[Math.max(i, j)])
  }
})
