import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { rank } from '../../src/app/match.ts'

const find = (items: readonly string[], query: string): string[] =>
  rank(items, query, (item) => item).map(({ item }) => item)

test('M1 every text that has all letters in order is found, and no other', () => {
  const letters = fc.stringMatching(/^[ab c]{0,8}$/)
  fc.assert(
    fc.property(letters, fc.stringMatching(/^[abc]{1,3}$/), (text, query) => {
      let at = -1
      let isThere = true
      for (const letter of query) {
        at = isThere ? text.indexOf(letter, at + 1) : at
        isThere &&= at >= 0
      }
      assert.equal(find([text], query).length === 1, isThere, `${text} / ${query}`)
    }),
  )
})

test('M2 starts of words, one piece and short texts come first', () => {
  assert.deepEqual(find(['smooth Riga', 'drug', 'Go to Runs'], 'ru'), ['Go to Runs', 'drug'])
  assert.deepEqual(find(['merge all', 'merge'], 'merge'), ['merge', 'merge all'])
  assert.equal(find(['getting', 'Go to graph'], 'gtg')[0], 'Go to graph')
})

test('M3 an empty query changes no order', () => {
  assert.deepEqual(find(['b', 'a'], '  '), ['b', 'a'])
})
