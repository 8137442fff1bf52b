import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AmbiguitySearch, OutOfBudget } from '../../src/regexp/ambiguity.ts'
import { buildAutomaton } from '../../src/regexp/automaton.ts'
import { hasOneWayRound, isAnchored, mayRepeatEndlessly } from '../../src/regexp/loops.ts'
import { StepMatcher } from '../../src/regexp/matcher.ts'
import { compileProgram, width } from '../../src/regexp/program.ts'
import { parsePattern, UnsupportedPattern } from '../../src/regexp/tree.ts'
import type { ParsedPattern } from '../../src/regexp/tree.ts'
import { regExpVerdict } from '../../src/regexp/verdict.ts'
import { pattern } from './patterns.ts'

const flags = fc.constantFrom('', 'i', 's', 'm', 'u')

function parsed(source: string, mode: string): ParsedPattern | undefined {
  try {
    return parsePattern(source, mode)
  } catch (error) {
    if (error instanceof UnsupportedPattern) return undefined
    throw error
  }
}

/** Whether the automaton of a fixed start proposes anything; undefined when it is too large to tell. */
function isProposed(one: ParsedPattern): boolean | undefined {
  try {
    const search = new AmbiguitySearch(buildAutomaton(one, false), 60_000)
    return search.candidates().next().done !== true
  } catch (error) {
    if (error instanceof OutOfBudget || error instanceof UnsupportedPattern) return undefined
    throw error
  }
}

test('a pattern with one way round its loop has no candidate from a fixed start', () => {
  let left = 0
  fc.assert(
    fc.property(pattern, flags, (source, mode) => {
      const one = parsed(source, mode)
      fc.pre(one !== undefined && hasOneWayRound(one.tree))
      left += 1
      assert.notEqual(isProposed(one), true)
    }),
    { numRuns: 2_000 },
  )
  assert.ok(left > 0)
})

test('a pattern that is slow has a quantifier without a limit', () => {
  fc.assert(
    fc.property(pattern, flags, (source, mode) => {
      if ('degree' in regExpVerdict(source, mode)) assert.ok(mayRepeatEndlessly(source))
    }),
    { numRuns: 500 },
  )
})

test('a search for an anchored pattern takes a few steps at every place but the first', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '1', ' '), maxLength: 12 })
  const anchored = fc.oneof(
    pattern.map((body) => `^(?:${body})`),
    fc.tuple(pattern, pattern).map(([a, b]) => `(?:^${a}|(^${b})+)`),
    pattern,
  )
  fc.assert(
    fc.property(anchored, text, (source, input) => {
      const one = parsed(source, '')
      fc.pre(one !== undefined && isAnchored(one.tree))
      const matcher = new StepMatcher(one)
      const fixed = matcher.exec(input, { maxSteps: 20_000, isSearch: false })
      const search = matcher.exec(input, { maxSteps: 50_000 })
      fc.pre(!fixed.isCut && !search.isCut)
      assert.deepEqual(search.match, fixed.match)
      const instructions = compileProgram(one).code.length / width
      assert.ok(search.steps <= fixed.steps + input.length * instructions)
    }),
    { numRuns: 1_000 },
  )
})

test('a pattern that may match elsewhere is not anchored', () => {
  for (const [source, mode = ''] of [['^a', 'm'], ['^a|b'], ['(?:^a)?b'], ['a^'], ['(?=^)a']]) {
    assert.ok(!isAnchored(parsePattern(source as string, mode).tree))
  }
})

const oneWay = ['^a*$', '^(ab)+c', '^x{3,}y', '^(?:a+)?b', '^(?=.*\\d)x', 'a|b+', 'abc']
const several = [
  '^(a+)+$',
  '^a*a*$',
  '^(?:a|b)*$',
  '^(a*){2}$',
  '^(a+)\\1',
  '^(?:a?)*$',
  '(?=a*)b*',
]

for (const source of oneWay) {
  test(`/${source}/ has one way round`, () => {
    assert.ok(hasOneWayRound(parsePattern(source, '').tree))
  })
}

for (const source of several) {
  test(`/${source}/ may have several ways round`, () => {
    assert.ok(!hasOneWayRound(parsePattern(source, '').tree))
  })
}

test('quantifiers are seen in the text', () => {
  for (const source of ['a*', 'a+', 'a{2,}', 'a{2,}?', '\\+']) assert.ok(mayRepeatEndlessly(source))
  for (const source of ['a', 'a?', 'a{2}', 'a{2,3}', '[,}]']) {
    assert.ok(!mayRepeatEndlessly(source))
  }
})
