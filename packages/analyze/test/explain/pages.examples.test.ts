import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { analyze } from '../../src/analyze.ts'
import { rulePages } from '../../src/explain/pages.ts'
import type { Finding } from '../../src/finding.ts'
import { blockingRules } from '../../src/blocking/rules.ts'
import { raceRules } from '../../src/rules/index.ts'

const root = path.resolve('/page')

async function analyse(code: string): Promise<readonly Finding[]> {
  const file = path.join(root, 'example.ts')
  const overlays = new Map([[file, code]])
  const { findings } = await analyze({ root, files: [file], types: 'none', overlays })
  return findings
}

/** The names of blocking rules are in their own table too. */
const ruleIds = new Set([...raceRules.keys(), ...blockingRules.map(({ id }) => id)])

test('every rule has a page', () => {
  const documented = new Set(rulePages.map(({ id }) => id))
  for (const id of ruleIds) assert.ok(documented.has(id), id)
})

for (const { id, name, race, fixed } of rulePages) {
  if (!ruleIds.has(id)) continue
  test(`${id} ${name}: it is found in the example, and nothing is found without it`, async () => {
    const found = await analyse(race)
    assert.ok(
      found.some(({ rule }) => rule === id),
      `found ${found.map(({ rule }) => rule).join(', ') || 'nothing'}`,
    )
    const left = (await analyse(fixed)).filter(({ level }) => level !== 'note')
    assert.deepEqual(
      left.map(({ rule, line }) => `${rule} at line ${line}`),
      [],
    )
  })
}
