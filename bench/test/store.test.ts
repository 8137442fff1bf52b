import assert from 'node:assert/strict'
import { test } from 'node:test'
import { suite } from '../suites/store/suite.ts'

test('every row has one entrant of ours; every peer lists its requirements', () => {
  for (const { entrants, name } of suite.rows) {
    const roles = Object.values(entrants).map(({ role }) => role)
    assert.equal(roles.filter((role) => role === 'ours').length, 1, name)
    for (const { role, needs = [] } of Object.values(entrants)) {
      assert.equal(needs.includes('peers'), role === 'peer', name)
    }
  }
})

test('ours on PostgreSQL, and every peer, needs a server that the suite starts', () => {
  for (const { entrants, name } of suite.rows) {
    const { needs = [] } = entrants['heddle']!
    assert.equal(needs.includes('postgres'), name.includes('PostgreSQL'), name)
  }
})

test('transitions are played on both databases at five widths, each against five peers', () => {
  const widths = suite.rows.filter(({ unit }) => unit === 'transitions/s')
  assert.equal(widths.length, 10)
  for (const { entrants, also } of widths) {
    assert.equal(Object.values(entrants).filter(({ role }) => role === 'peer').length, 5)
    assert.deepEqual(
      also?.map(({ name }) => name),
      ['CPU per transition'],
    )
  }
})
