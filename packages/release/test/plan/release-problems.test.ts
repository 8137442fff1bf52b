import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planJson } from '../../src/plan/output/plan-data.ts'
import { planTable } from '../../src/plan/output/plan-table.ts'
import { releaseProblems } from '../../src/plan/release-problems.ts'
import { planOf } from '../plan-kit.ts'

const problemsOf = (...manifests: readonly object[]): string[] =>
  releaseProblems(
    planOf(
      '/ws',
      manifests.map((manifest) => ({ manifest: { ...manifest } })),
    ),
  ).map(({ package: name, problem }) => `${name}: ${problem}`)

test('a plan that can be released has no problems', () => {
  const needs = { dependencies: { a: 'workspace:^' } }
  assert.deepEqual(
    problemsOf({ name: 'a', version: '1.0.0' }, { name: 'b', version: '1.0.0', ...needs }),
    [],
  )
})

test('ranges that lead nowhere, and versions that registries change, are named for each package', () => {
  const dependencies = { gone: 'workspace:^', near: 'file:../nowhere', other: 'catalog:' }
  assert.deepEqual(
    problemsOf({ name: 'a', version: '1.0.0', dependencies }, { name: 'b', version: '1.0.0+5' }),
    [
      'a: "gone" in dependencies is "workspace:^": the workspace has no package "gone"',
      'a: "near" in dependencies is "file:../nowhere": no package of the workspace is there',
      'a: "other" in dependencies is "catalog:": there is no catalog "default"',
      'b: b could not be packed: its version 1.0.0+5 has build metadata, which registries drop: they would show 1.0.0. Make it 1.0.0, or a prerelease.',
    ],
  )
})

test('a dist-tag that npm refuses is a problem, and a private package has none', () => {
  const plan = planOf('/ws', [
    { manifest: { name: 'a', version: '1.0.0' } },
    { manifest: { name: 'b', version: '1.0.0', private: true, dependencies: { x: 'file:x' } } },
  ])
  const packages = new Map(
    Array.from(plan.packages, ([name, planned]) => [name, { ...planned, distTag: '1.x' }]),
  )
  const [problem, ...others] = releaseProblems({ ...plan, packages })
  assert.deepEqual(others, [])
  assert.equal(problem?.package, 'a')
  assert.match(problem.problem, /the dist-tag "1\.x" reads as a version or a range/)
})

test('the table and the object for programs have the problems', () => {
  const dependencies = { gone: 'workspace:^' }
  const plan = planOf('/ws', [{ manifest: { name: 'a', version: '1.0.0', dependencies } }])
  assert.match(planTable(plan), /^error: a cannot be released: "gone" in dependencies/m)
  assert.deepEqual(planJson(plan).problems, releaseProblems(plan))
})
