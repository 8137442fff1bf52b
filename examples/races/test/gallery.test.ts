import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gallery } from '../gallery.ts'

for (const { name, show } of gallery) {
  test(`${name}: the race happens, and does not happen in the repaired version`, async () => {
    const race = await show('race')
    assert.equal(race.happened, true, race.what)
    const fixed = await show('fixed')
    assert.equal(fixed.happened, false, fixed.what)
    assert.notEqual(race.what, fixed.what)
  })
}

test('there are twelve, each of a rule of its own', () => {
  assert.equal(new Set(gallery.map(({ rule }) => rule)).size, 12)
})
