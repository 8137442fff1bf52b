import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { StepMatcher } from '../../src/regexp/matcher.ts'
import { parsePattern } from '../../src/regexp/tree.ts'
import { pattern } from './patterns.ts'

const text = fc.string({
  unit: fc.constantFrom('a', 'b', 'c', 'A', '1', '_', ' ', '\n', '😀'),
  maxLength: 9,
})
// Sticky where characters are code points: V8 also starts a search in the middle of one.
const flags = fc.constantFrom('', 'i', 'm', 's', 'y', 'im', 'uy', 'vy')

function compile(source: string, mode: string): RegExp | undefined {
  try {
    return new RegExp(source, mode)
  } catch {
    return undefined
  }
}

test('the matcher finds the same matches and groups as V8', () => {
  fc.assert(
    fc.property(pattern, flags, text, (source, mode, input) => {
      const native = compile(source, mode)
      fc.pre(native !== undefined)
      const { match, isCut } = new StepMatcher(parsePattern(source, mode)).exec(input, {
        maxSteps: 50_000,
      })
      fc.pre(!isCut)
      const expected = native.exec(input)
      const groups =
        match &&
        pairs(match).map(([from, to]) => (from < 0 || to < 0 ? undefined : input.slice(from, to)))
      assert.equal(match?.[0], expected?.index)
      assert.deepEqual(groups, expected === null ? undefined : [...expected])
    }),
    { numRuns: 2_000 },
  )
})

function pairs(values: readonly number[]): [number, number][] {
  return Array.from({ length: values.length / 2 }, (_, i) => [values[2 * i]!, values[2 * i + 1]!])
}

test('modifiers hold for their group only', () => {
  const matcher = new StepMatcher(parsePattern('(?i:a)b', ''))
  assert.deepEqual(matcher.exec('Ab', { maxSteps: 100 }).match, [0, 2])
  assert.equal(matcher.exec('AB', { maxSteps: 100 }).match, undefined)
})

test('a run that is stopped says so and took no more steps than it may', () => {
  const matcher = new StepMatcher(parsePattern('(a+)+$', ''))
  const result = matcher.exec(`${'a'.repeat(60)}!`, { maxSteps: 10_000 })
  assert.ok(result.isCut)
  assert.ok(result.steps <= 10_001)
  assert.equal(result.match, undefined)
})

test('the same matcher can be used again after it was stopped', () => {
  const matcher = new StepMatcher(parsePattern('(a+)+$', ''))
  matcher.exec(`${'a'.repeat(60)}!`, { maxSteps: 10_000 })
  assert.deepEqual(matcher.exec('aa', { maxSteps: 10_000 }).match, [0, 2, 0, 2])
})
