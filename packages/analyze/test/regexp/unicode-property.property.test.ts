import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { charSet, contains } from '../../src/regexp/charset.ts'
import { unicodeProperty } from '../../src/regexp/unicode-property.ts'

test('every character has the properties that V8 gives it', () => {
  const name = fc.constantFrom('L', 'Lu', 'ASCII', 'Script=Han', 'Any', 'Cn', 'Emoji')
  const value = fc.oneof(fc.nat(0x2fff), fc.nat(0x10ffff)).filter((v) => v < 0xd800 || v > 0xdfff)
  fc.assert(
    fc.property(name, value, (property, one) => {
      const isIn = new RegExp(`\\p{${property}}`, 'u').test(String.fromCodePoint(one))
      assert.equal(contains(unicodeProperty(property), one), isIn)
    }),
    { numRuns: 2_000 },
  )
})

test('a property has the same characters as in V8', () => {
  const letters = unicodeProperty('Script=Greek')
  assert.ok(contains(letters, 0x3b1))
  assert.ok(!contains(letters, 0x61))
  const astral = unicodeProperty('Emoji_Presentation')
  assert.ok(contains(astral, 0x1f600))
  assert.ok(!contains(unicodeProperty('Any'), 0xd800))
})

/** Those about letters, and those that say something about code points without a character. */
const properties = (
  'Any Assigned Cn Co Noncharacter_Code_Point Default_Ignorable_Code_Point Grapheme_Base ' +
  'Changes_When_NFKC_Casefolded Extended_Pictographic Pattern_Syntax Bidi_C L N P Alphabetic ' +
  'ID_Start ID_Continue Ideographic Script=Han'
).split(' ')

test('asking a few characters of an empty plane is as good as asking all', () => {
  const all = Array.from({ length: 0x11 }, (_, plane) => textOfPlane(plane)).join('')
  for (const name of properties) {
    const ranges = Array.from(
      all.matchAll(new RegExp(`\\p{${name}}+`, 'gu')),
      ({ 0: run }): [number, number] => {
        const pair = run.slice(-2).codePointAt(0) as number
        return [run.codePointAt(0) as number, pair > 0xffff ? pair : run.charCodeAt(run.length - 1)]
      },
    )
    const isOfSurrogates = ([first, last]: [number, number]): boolean =>
      first < 0xd800 && last > 0xdfff
    const split = ranges.flatMap((range): [number, number][] =>
      isOfSurrogates(range)
        ? [
            [range[0], 0xd7ff],
            [0xe000, range[1]],
          ]
        : [range],
    )
    assert.deepEqual(unicodeProperty(name), charSet(split), name)
  }
})

function textOfPlane(plane: number): string {
  const parts: string[] = []
  for (let row = plane << 16; row < (plane + 1) << 16; row += 0x800) {
    if (row !== 0xd800) {
      parts.push(String.fromCodePoint(...Array.from({ length: 0x800 }, (_, i) => row + i)))
    }
  }
  return parts.join('')
}
