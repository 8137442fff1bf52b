import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rulePage, rulePages } from '../../src/explain/pages.ts'
import { suggestRule } from '../../src/explain/suggest.ts'

test('every rule has one page, in order, with all its parts', () => {
  const ids = rulePages.map(({ id }) => id)
  assert.equal(new Set(ids).size, ids.length)
  assert.equal(new Set(rulePages.map(({ name }) => name)).size, ids.length)
  for (const page of rulePages) {
    assert.match(page.id, /^[HBS]\d{3}$/)
    assert.match(page.name, /^[a-z]+(-[a-z]+)*$/, page.id)
    for (const text of [page.summary, page.what, page.why])
      assert.match(text, /^[A-Z`@][^]*[.]$/, page.id)
    assert.ok(page.fixes.length >= 2, page.id)
    assert.notEqual(page.race, page.fixed, page.id)
  }
})

test('the interleaving of a race has two tasks and a window inside of it', () => {
  for (const { id, class: kind, steps, window } of rulePages) {
    if (kind === 'suppression') continue
    assert.ok(new Set(steps.map(([task]) => task)).size >= 2, id)
    assert.ok(window !== undefined, id)
    const [first, last] = window
    assert.ok(first >= 1 && first <= last && last <= steps.length, id)
  }
})

test('a rule is found by id and by name, in any case; a slip gets a suggestion', () => {
  assert.equal(rulePage('h502')!.id, 'H502')
  assert.equal(rulePage('Reset-Then-Fill')!.id, 'H502')
  assert.equal(rulePage('H999'), undefined)
  assert.equal(suggestRule('H5O2'), 'H502')
  assert.equal(suggestRule('check-than-act'), 'check-then-act')
  assert.equal(suggestRule('zzz'), undefined)
})
