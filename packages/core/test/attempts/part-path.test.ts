import assert from 'node:assert/strict'
import test from 'node:test'
import {
  elementIndexOf,
  elementPath,
  hasElementKey,
  joinPath,
  keyedStepPath,
  looksLikePart,
  numberedPath,
  readWaitPath,
  stepKind,
} from '../../src/attempts/part-path.ts'

test('paths have the form that journals hold: the table of docs/design/growing.md', () => {
  assert.equal(elementPath(12, undefined), '[12]')
  assert.equal(elementPath(12, 'page/7'), '[key=page%2F7]')
  assert.equal(numberedPath(stepKind.run('pay now'), 0), 'run:pay%20now#0')
  assert.equal(numberedPath(stepKind.sleep(), 1), 'sleep#1')
  assert.equal(numberedPath(stepKind.waitFor('approval'), 0), 'wait:approval#0')
  assert.equal(keyedStepPath('order-7'), 'key:order-7')
})

test('the path of an element is read back', () => {
  assert.equal(elementIndexOf(elementPath(12, undefined)), 12)
  assert.equal(hasElementKey(elementPath(12, undefined)), false)
  assert.equal(hasElementKey(elementPath(12, 'a')), true)
})

test('the path of a wait names its signal, also inside an element; that of a sleep names none', () => {
  assert.deepEqual(readWaitPath(`[3]/${numberedPath(stepKind.waitFor('go now'), 2)}`), {
    signal: 'go now',
  })
  assert.deepEqual(readWaitPath('sleep#0'), {})
  assert.equal(readWaitPath('run:sleep#0'), undefined)
  assert.equal(readWaitPath('[3]'), undefined)
})

test('a step is separated from the name of its node, an element is not', () => {
  assert.equal(joinPath('map', '[3]/run:a#0', ' '), 'map[3]/run:a#0')
  assert.equal(joinPath('order', 'run:a#0', ' '), 'order run:a#0')
  assert.equal(joinPath('order', 'run:a#0', '/'), 'order/run:a#0')
  assert.equal(joinPath('order', '', '/'), 'order')
})

test('a node whose name could be that of a part is recognised', () => {
  assert.equal(looksLikePart('order run:a#0', ' '), true)
  assert.equal(looksLikePart('order/sleep#0', '/'), true)
  assert.equal(looksLikePart('a[1]', '/'), true)
  assert.equal(looksLikePart('order/run', '/'), false)
  assert.equal(looksLikePart('running: fast', ' '), false)
})

test('half of a surrogate pair is refused: no journal keeps it', () => {
  assert.throws(() => keyedStepPath('\uD800'), { code: 'HDL_BAD_OPTION' })
})
