import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { assemblePlan, type Decision } from '../../../src/plan/assemble.ts'
import { planTable } from '../../../src/plan/output/plan-table.ts'
import { planLevels } from '../../../src/plan/output/plan-levels.ts'
import { planMermaid } from '../../../src/plan/output/mermaid.ts'
import { planCsv, planJson } from '../../../src/plan/output/plan-data.ts'
import { columnsOf } from '../../../src/plan/output/column-text.ts'
import type { ReleasePlan } from '../../../src/model.ts'
import { sketchWorkspace } from '../sketch.ts'

async function sample(reason = 'feat: add x'): Promise<ReleasePlan> {
  const workspace = sketchWorkspace({
    '@acme/core': {},
    '@acme/http': { needs: { '@acme/core': 'workspace:^' } },
    '@acme/web': { needs: { '@acme/core': 'workspace:^', '@acme/http': 'workspace:^' } },
    docs: {},
    old: {},
    tools: { private: true },
  })
  const decisions = new Map<string, Decision>([
    ['@acme/core', { version: '1.1.0-rc.0', isReleased: true, reason }],
    ['@acme/http', { version: '1.0.1', isReleased: true, reason: 'depends on @acme/core' }],
    ['@acme/web', { version: '1.0.0', isReleased: true, reason: 'version of package.json' }],
    ['old', { version: '1.0.1', isReleased: true, reason: 'fix' }],
  ])
  return assemblePlan(workspace, 'commits', decisions, { exclude: ['old'] }, [
    'Look at\u001b[31m this.',
  ])
}

test('the table lists released packages in their order, then the others', async () => {
  assert.equal(
    planTable(await sample()),
    [
      'package     version             status     dist-tag  reason',
      '@acme/core  1.0.0 → 1.1.0-rc.0  included   rc        feat: add x',
      '@acme/http  1.0.0 → 1.0.1       included   latest    depends on @acme/core',
      '@acme/web   1.0.0               included   latest    version of package.json',
      'old         1.0.0               excluded             excluded',
      'docs        1.0.0               unchanged            no changes',
      'tools       1.0.0               private              "private": true',
      '',
      '3 of 6 packages to release, 3 levels',
      'warning: Look at [31m this.',
    ].join('\n'),
  )
})

test('property: the table fits any width that can hold its fixed columns, whatever people write', async () => {
  const reasons = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 200 }),
    fc.string({ unit: 'binary', maxLength: 50 }),
  )
  await fc.assert(
    fc.asyncProperty(reasons, fc.integer({ min: 72, max: 120 }), async (reason, width) => {
      const lines = planTable(await sample(reason), { width }).split('\n')
      assert.equal(lines.length, 10)
      for (const line of lines.slice(0, 7)) {
        assert.ok(columnsOf(line) <= width, `${columnsOf(line)} of ${width}: ${line}`)
        assert.doesNotMatch(line, /[\u0000-\u001f\u007f-\u009f]/)
      }
    }),
    { numRuns: 200 },
  )
})

test('an empty plan is printed as such', async () => {
  const plan = await assemblePlan(sketchWorkspace({ a: {} }), 'commits', new Map(), {})
  assert.match(planTable(plan), /\n\n0 of 1 package to release$/)
  assert.deepEqual(planLevels(plan), [])
  assert.equal(planMermaid(plan), 'graph LR\n')
})

test('levels are printed for readers', async () => {
  assert.deepEqual(planLevels(await sample()), [['@acme/core'], ['@acme/http'], ['@acme/web']])
})

test('Mermaid: arrows point to later packages', async () => {
  assert.equal(
    planMermaid(await sample()),
    [
      'graph LR',
      '  p0["@acme/core<br/>1.0.0 → 1.1.0-rc.0"]',
      '  p1["@acme/http<br/>1.0.0 → 1.0.1"]',
      '  p2["@acme/web<br/>1.0.0"]',
      '  p0 --> p1',
      '  p0 --> p2',
      '  p1 --> p2',
      '',
    ].join('\n'),
  )
})

test('JSON: plain data, the same after a round trip, without paths of this machine', async () => {
  const plan = await sample()
  const json = planJson(plan)
  assert.deepEqual(JSON.parse(JSON.stringify(json)), json)
  assert.ok(!JSON.stringify(json).includes(JSON.stringify(plan.workspace.root).slice(1, -1)))
  assert.deepEqual(json.packages[1], {
    name: '@acme/http',
    ecosystem: 'npm',
    folder: 'packages/http',
    current: '1.0.0',
    version: '1.0.1',
    status: 'included',
    reason: 'depends on @acme/core',
    distTag: 'latest',
    level: 1,
    after: ['@acme/core'],
  })
  assert.equal(json.version, 1)
  assert.equal(json.source, 'commits')
})

test('CSV: quotes where they must be, and no formulas', async () => {
  const lines = planCsv(await sample('=HYPERLINK("x"), or so')).split('\r\n')
  assert.equal(lines[0], 'name,ecosystem,folder,current,version,status,distTag,level,after,reason')
  assert.equal(
    lines[1],
    `@acme/core,npm,packages/core,1.0.0,1.1.0-rc.0,included,rc,0,,"'=HYPERLINK(""x""), or so"`,
  )
  assert.equal(
    lines[3],
    '@acme/web,npm,packages/web,1.0.0,1.0.0,included,latest,2,@acme/core @acme/http,version of package.json',
  )
  assert.equal(lines.length, 8)
})

test('the last line counts published packages, and a taken version is a warning', async () => {
  const plan = await sample()
  const all = new Map([...plan.packages.keys()].map((name) => [name, true]))
  const text = planTable(plan, { published: all })
  assert.match(text, /\n0 of \d packages to release, 3 published already\n/)
  assert.match(text, /warning: The registry has @acme\/http@1\.0\.1 already, without these changes/)
  const some = new Map([
    ['@acme/core', false],
    ['@acme/http', false],
    ['@acme/web', true],
  ])
  const open = planTable(plan, { published: some })
  assert.match(open, /2 of \d packages to release, 1 published already/)
  assert.doesNotMatch(open, /has @acme\/http/)
})
