import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkPlan, requireInstallable, type PlanFinding } from '../../src/plan/check-plan.ts'
import { assemblePlan, type Decision } from '../../src/plan/assemble.ts'
import type { Workspace } from '../../src/model.ts'
import { sketchWorkspace } from './sketch.ts'

/** The findings of a plan in which these packages get these versions. */
async function findings(
  workspace: Workspace,
  versions: Record<string, string>,
): Promise<PlanFinding[]> {
  const decisions = new Map<string, Decision>()
  for (const { name, version } of workspace.packages.values()) {
    decisions.set(name, { version: versions[name] ?? version, isReleased: true, reason: '' })
  }
  return checkPlan(await assemblePlan(workspace, 'commits', decisions, {}))
}

test('a released package that needs a private one is an error, except for development', async () => {
  const workspace = sketchWorkspace({
    a: { needs: { 'dev:secret': '1.0.0' } },
    b: { needs: { secret: 'workspace:*' } },
    c: { needs: { 'peer:secret': '^1.0.0' }, private: true },
    secret: { private: true },
  })
  const found = await findings(workspace, {})
  assert.deepEqual(
    found.map(({ level, kind, package: name, dependency }) => [level, kind, name, dependency]),
    [['error', 'private', 'b', 'secret']],
  )
})

test('ranges are checked against planned versions', async () => {
  const ranges: [string, 'fits' | 'moved' | 'error' | 'older'][] = [
    ['workspace:*', 'fits'],
    ['workspace:^', 'fits'],
    ['*', 'fits'],
    ['>=1', 'fits'],
    ['^1.0.0', 'moved'],
    ['workspace:^1.0.0', 'moved'],
    ['1.x', 'moved'],
    ['npm:core@^1.0.0', 'moved'],
    ['catalog:', 'moved'],
    ['>=1.0.0 <2.0.0', 'error'],
    ['^1.0.0 || ^0.9.0', 'error'],
    ['^0.9.0', 'older'],
    ['latest', 'fits'],
    ['https://example.com/core.tgz', 'fits'],
  ]
  for (const [range, expected] of ranges) {
    const catalogs = new Map([['default', new Map([['core', '~1.0.0']])]])
    const workspace = sketchWorkspace({ app: { needs: { core: range } }, core: {} }, { catalogs })
    const [found, ...others] = await findings(workspace, { core: '2.0.0' })
    assert.deepEqual(others, [])
    const outcome = {
      undefined: 'fits',
      'warning range': 'moved',
      'error range': 'error',
      'warning older': 'older',
    }
    assert.equal(
      outcome[found === undefined ? 'undefined' : (`${found.level} ${found.kind}` as never)],
      expected,
      range,
    )
  }
})

test('the finding names the range, both versions and the released package', async () => {
  const workspace = sketchWorkspace({ app: { needs: { core: '^1.0.0' } }, core: {} })
  const [found] = await findings(workspace, { core: '2.0.0' })
  assert.equal(
    found!.problem,
    '"core" in dependencies is "^1.0.0", which allows 1.0.0 but not 2.0.0: it is released as "^2.0.0"',
  )
})

test('a prerelease is outside of a plain range', async () => {
  const workspace = sketchWorkspace({ app: { needs: { core: '>=1.0.0 <2.0.0' } }, core: {} })
  const [found] = await findings(workspace, { core: '1.1.0-rc.0' })
  assert.equal(found!.level, 'error')
})

test('Python: requirements are released as exactly the planned version', async () => {
  const ecosystem = 'python' as const
  const workspace = sketchWorkspace({
    app: { ecosystem, needs: { core: '[fast]>=1,<2 ; python_version < "4"' } },
    web: { ecosystem, needs: { core: '>=1' } },
    core: { ecosystem },
  })
  const found = await findings(workspace, { core: '2.0.0' })
  assert.deepEqual(
    found.map(({ level, package: name, problem }) => [level, name, problem]),
    [
      [
        'warning',
        'app',
        '"core[fast]>=1,<2 ; python_version < "4"" in project.dependencies does not allow 2.0.0: it is released as "core[fast]==2.0.0 ; python_version < "4""',
      ],
    ],
  )
})

test('errors refuse the plan, all at once; warnings do not', async () => {
  const workspace = sketchWorkspace({
    a: { needs: { secret: '*' } },
    b: { needs: { secret: '*', a: '^0.1.0' } },
    secret: { private: true },
  })
  const decisions = new Map<string, Decision>()
  for (const name of ['a', 'b'])
    decisions.set(name, { version: '1.0.0', isReleased: true, reason: '' })
  const plan = await assemblePlan(workspace, 'commits', decisions, {})
  assert.throws(() => requireInstallable(plan), /\n {2}a: "secret" .*\n {2}b: "secret"/)
  const fine = await assemblePlan(workspace, 'commits', new Map(), {})
  requireInstallable(fine)
})
