import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isExpired, parseDirective } from '../../src/suppress/directive.ts'

test('one rule, several rules, and a reason are parsed', () => {
  assert.deepEqual(parseDirective(' heddle-ignore H101 -- only one caller'), {
    rules: ['H101'],
    reason: 'only one caller',
  })
  assert.deepEqual(parseDirective('heddle-ignore H101, H501 H502 -- a -- b ')!, {
    rules: ['H101', 'H501', 'H502'],
    reason: 'a -- b',
  })
})

test('until= is a day, in the reason or before it', () => {
  const wanted = { rules: ['H101'], reason: 'moves soon', until: '2027-01-01' }
  assert.deepEqual(parseDirective('heddle-ignore H101 -- moves soon [until=2027-01-01]'), wanted)
  assert.deepEqual(parseDirective('heddle-ignore H101 [until=2027-01-01] -- moves soon'), wanted)
})

test('a day that does not exist is reported, not taken', () => {
  for (const day of ['2027-02-30', 'tomorrow', '2027-1-1', '']) {
    const directive = parseDirective(`heddle-ignore H101 -- x [until=${day}]`)
    assert.equal(directive!.badUntil, day)
    assert.equal(directive!.until, undefined)
  }
})

test('a missing reason is an empty one', () => {
  for (const text of ['heddle-ignore H101', 'heddle-ignore H101 --', 'heddle-ignore H101 because'])
    assert.equal(parseDirective(text)!.reason, '', text)
})

test('block comments may begin with stars; other comments are not directives', () => {
  assert.equal(parseDirective('*\n * heddle-ignore H101 -- x\n ')!.reason, 'x')
  for (const text of ['see heddle-ignore H101 -- x', 'heddle-ignored', 'heddle-ignore-next x', ''])
    assert.equal(parseDirective(text), undefined, text)
})

test('it holds on the day itself', () => {
  assert.equal(isExpired('2027-01-01', '2027-01-01'), false)
  assert.equal(isExpired('2027-01-01', '2027-01-02'), true)
})
