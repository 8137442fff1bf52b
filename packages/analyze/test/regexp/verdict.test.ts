import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StepMatcher } from '../../src/regexp/matcher.ts'
import { parsePattern } from '../../src/regexp/tree.ts'
import { attackText, regExpVerdict } from '../../src/regexp/verdict.ts'

const exponential = [
  /(a+)+$/,
  /(a|a)*b/,
  /(a*)*b/,
  /(x+x+)+y/,
  /^(\w+\s?)*$/,
  /^(([a-z])+.)+[A-Z]([a-z])+$/,
  /^(?:a|ab|b)*c/,
  /^(?=(a+)+$)a/,
  /^(?:\p{L}+\s*)+$/u,
  /^(a|A)*$/i,
  /(?:(a+)+b|a*)c/,
  /^"(?:[^"]|\\.)*"$/,
]

const quadratic = [/^[\w-]+_.+$/, /^\s*(.*?)\s*$/, /^a*a*$/, /^.*?,.*?;$/, /^(?!.*x.*y).*a.*b$/]

const bySearch = [/\s+$/, /^\s+|\s+$/g, /(\d+)-(\d+)/, /<!--[\s\S]*?-->/, /[^=]+=/]

const harmless = [
  /^[\w-]+_[0-9a-zA-Z]+$/,
  /^\d+$/,
  /^(?:\*|\d+)$/,
  /^#?([a-f\d]{2})([a-f\d]{2})([a-f\d]{2})$/i,
  /^(a?)*$/,
  /^(?:a+)+/,
  /^(?:a|b)*$/,
  /^[^\s@]+@[^\s@]+$/,
  /^(?:\d{1,3}\.){3}\d{1,3}$/,
  /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==)?$/,
  /^"(?:[^"\\]|\\.)*"$/,
  /^(\d{4})-(\d{2})-(\d{2})$/,
  /^(?=.*\d)(?=.*[a-z]).{4,8}$/,
  /\r?\n/,
  /[&<>"']/g,
  /a.b/y,
]

const verdict = ({ source, flags }: RegExp) => regExpVerdict(source, flags)

for (const pattern of exponential) {
  test(`${pattern} is exponential`, () => assert.equal(verdict(pattern).kind, 'exponential'))
}

for (const pattern of quadratic) {
  test(`${pattern} is polynomial wherever it starts`, () => {
    const found = verdict(pattern)
    assert.equal(found.kind, 'polynomial')
    assert.ok(found.degree >= 2)
    assert.equal(found.isBySearch, false)
  })
}

for (const pattern of bySearch) {
  test(`${pattern} is polynomial because it searches`, () => {
    const found = verdict(pattern)
    assert.equal(found.kind, 'polynomial')
    assert.equal(found.isBySearch, true)
  })
}

for (const pattern of harmless) {
  test(`${pattern} is linear`, () => assert.deepEqual(verdict(pattern), { kind: 'linear' }))
}

test('the attack string makes the steps grow as the verdict says', () => {
  for (const pattern of [...quadratic, ...bySearch]) {
    const found = verdict(pattern)
    assert.equal(found.kind, 'polynomial')
    const { prefix, pump, suffix } = found.attack
    const matcher = new StepMatcher(parsePattern(pattern.source, pattern.flags))
    const steps = (times: number): number =>
      matcher.exec(prefix + pump.repeat(times) + suffix, { maxSteps: 20_000_000 }).steps
    // Four times the input: a linear pattern takes four times the steps, a quadratic one sixteen.
    assert.ok(steps(160) / steps(40) > 9, `${pattern}: ${steps(160)} / ${steps(40)}`)
  }
})

test('a pattern that cannot be judged is unknown, not harmless', () => {
  assert.equal(regExpVerdict('(', '').kind, 'unknown')
  assert.equal(regExpVerdict('[\\q{ab|c}]+x', 'v').kind, 'unknown')
  assert.equal(regExpVerdict('[a-z]{600}y*', '').kind, 'unknown')
})

test('the same pattern gives the same answer', () => {
  for (const pattern of exponential) assert.deepEqual(verdict(pattern), verdict(pattern))
})

test('an attack string reads like an expression', () => {
  assert.equal(attackText({ prefix: 'a', pump: '_', suffix: '\n' }), '"a" + "_" repeated + "\\n"')
  assert.equal(attackText({ prefix: '', pump: ' ', suffix: '' }), '" " repeated')
})

test('turns that take nothing are not counted one by one', () => {
  for (const source of [
    '()(?:a|\\1{5000000000})*c',
    '(a*\\1{5000000000})*b',
    '(?:(?=a){4000000000})*b',
  ])
    assert.ok(regExpVerdict(source, ''))
})
