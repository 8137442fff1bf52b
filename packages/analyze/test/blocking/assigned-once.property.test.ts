import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isAssignedTwice } from '../../src/blocking/assigned-once.ts'
import { escapePattern } from '../../src/escape-pattern.ts'

/** What is meant, as a pattern: too slow for every name of a program. */
function assignments(text: string, name: string): number {
  const pattern = new RegExp(
    `(?<![\\w$.])${escapePattern(name)}\\s*(?:[+*|&?-]|\\|\\||&&|\\?\\?)?=(?![=>])`,
    'g',
  )
  return [...text.matchAll(pattern)].length
}

const names = ['a', 'aa', '$', 'a$', '_', 'if', 'é', 'éé', '𝒳', 'value']
const separators = [
  ' ',
  '\t',
  '\n',
  '\r\n',
  '\u00a0',
  '\u2028',
  '\ufeff',
  '\u200b',
  '',
  '.',
  '#',
  '-',
]
const operators =
  '= += -= *= |= &= ?= ||= &&= ??= == === => != <= >= /= %= **= ^= |||= +== ??=>'.split(' ')
const pieces = fc.constantFrom(...names, ...separators, ...operators, '1', ';', '(', '/* */')
const likely = fc
  .tuple(
    fc.constantFrom(...separators),
    fc.constantFrom(...names),
    fc.constantFrom(...separators),
    fc.constantFrom(...operators),
    fc.constantFrom(...separators),
  )
  .map((parts) => parts.join(''))
const texts = fc.array(fc.oneof(pieces, likely), { maxLength: 12 }).map((parts) => parts.join(''))

test('a name is assigned twice when the pattern finds two assignments', () => {
  fc.assert(
    fc.property(texts, fc.constantFrom(...names), (text, name) => {
      assert.equal(isAssignedTwice(text, name), assignments(text, name) > 1)
    }),
    { numRuns: 5000 },
  )
})

test('one assignment of any form counts as one, whatever is around the name', () => {
  fc.assert(
    fc.property(likely, fc.constantFrom(...names), (text, name) => {
      assert.equal(isAssignedTwice(`${name} = 1\n${text}`, name), assignments(text, name) > 0)
    }),
    { numRuns: 5000 },
  )
})

test('text that only resembles an assignment does not count', () => {
  for (const text of ['x == 1', 'x => 1', 'o.x = 1', 'ax = 1', '$x = 1', 'x$ = 1', 'x != 1', 'x']) {
    assert.equal(isAssignedTwice(`x = 0; ${text}`, 'x'), false, text)
  }
})

test('compound assignments and assignments over a line end count', () => {
  for (const text of ['x += 1', 'x ||= 1', 'x &&= 1', 'x ??= 1', 'x\n  = 1', 'x|=1', '{x= 1}']) {
    assert.equal(isAssignedTwice(`x = 0; ${text}`, 'x'), true, text)
  }
})

test('a name that is missing is not searched', () => {
  assert.equal(isAssignedTwice('x = 1', ''), true)
})
