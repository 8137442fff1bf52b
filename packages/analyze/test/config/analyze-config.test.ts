import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { isProblem, parseConfig } from '../../src/config/analyze-config.ts'

const schema = JSON.parse(
  readFileSync(new URL('../../schema/config.schema.json', import.meta.url), 'utf8'),
) as object
const validate = new Ajv2020({ strict: false }).compile(schema)

const full = {
  $schema: './schema.json',
  include: ['src'],
  exclude: ['**/*.test.ts'],
  level: 'error',
  rules: { H405: 'off', 'check-then-act': 'warning' },
  types: 'none',
  models: ['models/ours.json'],
  guards: ['withTenantLock'],
  baseline: 'known.json',
  failOn: 'any',
}

test('everything can be set; rules are named by id or by name', () => {
  assert.ok(validate(full), JSON.stringify(validate.errors))
  const { $schema: _, ...settings } = full
  assert.deepEqual(parseConfig(JSON.stringify(full)), {
    ...settings,
    rules: { H405: 'off', H101: 'warning' },
  })
  assert.deepEqual(parseConfig('{}'), {})
})

test('an unknown setting is reported, with a suggestion', () => {
  const cases: [value: unknown, problem: RegExp, suggestion?: string][] = [
    [[], /^must be an object, not \[\]$/],
    [null, /^must be an object, not null$/],
    [{ exlude: [] }, /^has an unknown key "exlude"$/, 'exclude'],
    [{ toString: 1 }, /^has an unknown key "toString"$/],
    [{ level: 'warn' }, /^wants one of "note", "warning", "error" for "level", not "warn"$/],
    [{ level: 'eror' }, /for "level"/, 'error'],
    [{ include: 'src' }, /^wants a list of texts for "include", not "src"$/],
    [{ include: ['src', ''] }, /^wants a list of texts for "include"/],
    [{ baseline: true }, /^wants the path of a file for "baseline", not true$/],
    [{ rules: ['H101'] }, /^wants an object such as/],
    [{ rules: { H999: 'off' } }, /^has an unknown rule "H999" in "rules"$/],
    [{ rules: { H5O2: 'off' } }, /unknown rule "H5O2"/, 'H502'],
    [{ rules: { H101: 'on' } }, /^wants one of "off", .* for "rules\.H101", not "on"$/],
    [{ types: 'ts' }, /for "types"/],
    [{ failOn: 'all' }, /for "failOn"/],
  ]
  for (const [value, problem, suggestion] of cases) {
    const config = parseConfig(JSON.stringify(value))
    assert.ok(isProblem(config), JSON.stringify(value))
    assert.match(config.problem, problem)
    if (suggestion !== undefined) assert.equal(config.suggestion, suggestion)
  }
  const broken = parseConfig('{ level: 1 }')
  assert.ok(isProblem(broken))
  assert.match(broken.problem, /^is not JSON \(/)
})

test('the schema for editors refuses what the loader refuses', () => {
  for (const value of [
    { exlude: [] },
    { level: 'warn' },
    { include: 'src' },
    { rules: { H101: 'on' } },
  ])
    assert.equal(validate(value), false, JSON.stringify(value))
})
