import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { formatAddress, parseAddress, withQuery } from '../../src/app/route.ts'

test('A1 an address leads back to its view', () => {
  const text = fc.string({ minLength: 1, unit: 'grapheme' })
  const queries = fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), text)
  fc.assert(
    fc.property(fc.array(text), queries, (path, query) => {
      const parsed = parseAddress(formatAddress({ path, query }))
      assert.deepEqual(parsed.path, path)
      assert.deepEqual({ ...parsed.query }, { ...query })
    }),
  )
})

test('A2 empty words are left out', () => {
  assert.equal(formatAddress({ path: ['runs'], query: { state: '', q: 'x' } }), '#/runs?q=x')
  assert.deepEqual(parseAddress('#/runs?state=&q=x').query, { q: 'x' })
  const next = withQuery(parseAddress('#/runs?q=x&at=5'), { q: undefined, node: 'a b' })
  assert.equal(formatAddress(next), '#/runs?at=5&node=a+b')
  assert.deepEqual(parseAddress('#/runs/%E0%A4%A').path, ['runs', '%E0%A4%A'])
})
