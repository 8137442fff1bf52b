import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import type { Config } from '@heddle/analyze'
import { settle, type AnalyzeFlags } from '../../src/analyze/analyze-settings.ts'

const none: AnalyzeFlags = {
  targets: [],
  format: undefined,
  inventory: false,
  level: undefined,
  baseline: undefined,
  writeBaseline: false,
  failOn: undefined,
  changedSince: undefined,
  types: true,
  explain: undefined,
  watch: false,
  lsp: false,
  config: undefined,
  output: undefined,
  color: true,
}

const folder = path.resolve('/project')

function settled(flags: Partial<AnalyzeFlags> = {}, config: Config = {}) {
  const loaded = { file: undefined, folder, config }
  const names = { cwd: path.join(folder, 'src'), baseline: 'known.json' }
  return settle({ ...none, ...flags }, loaded, names)
}

test('without any wish everything has a default', () => {
  assert.deepEqual(settled(), {
    format: 'text',
    level: 'warning',
    failLevel: 'warning',
    failOn: 'new',
    rules: {},
    types: 'auto',
    include: [folder],
    exclude: [],
    excludeFrom: folder,
    models: [],
    guards: [],
    baseline: { file: path.join(folder, 'known.json'), isNamed: false },
  })
})

test('programs get notes too, unless a level is asked for; notes alone do not fail', () => {
  for (const format of ['json', 'sarif'] as const) {
    const { level, failLevel } = settled({ format })
    assert.deepEqual([level, failLevel], ['note', 'warning'])
  }
  assert.equal(settled({ format: 'json', level: 'error' }).level, 'error')
  assert.equal(settled({ format: 'json' }, { level: 'error' }).level, 'error')
  assert.equal(settled({ level: 'note' }).failLevel, 'note')
})

test('flags win over the file; paths of each start where it stands', () => {
  const config: Config = { level: 'note', failOn: 'any', types: 'none', baseline: 'b.json' }
  const own = settled({}, { ...config, include: ['lib'], models: ['m.json'] })
  assert.deepEqual([own.level, own.failOn, own.types], ['note', 'any', 'none'])
  assert.deepEqual(own.include, [path.join(folder, 'lib')])
  assert.deepEqual(own.models, [path.join(folder, 'm.json')])
  assert.deepEqual(own.baseline, { file: path.join(folder, 'b.json'), isNamed: true })
  const over = settled({ level: 'error', failOn: 'never', baseline: 'c.json' }, config)
  assert.deepEqual([over.level, over.failOn], ['error', 'never'])
  assert.deepEqual(over.baseline, { file: path.join(folder, 'src/c.json'), isNamed: true })
  assert.equal(settled({ types: false }, { types: 'auto' }).types, 'none')
})
