import assert from 'node:assert/strict'
import test from 'node:test'
import {
  currentPath,
  elementIndexOf,
  elementPath,
  hasElementKey,
  joinPath,
  keyedStepPath,
  looksLikePart,
  numberedPath,
  readWaitPath,
  stepKind,
  stepPrefix,
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

test('a node whose name looks like that of a part is recognized', () => {
  assert.equal(looksLikePart('order run:a#0', ' '), true)
  assert.equal(looksLikePart('order/sleep#0', '/'), true)
  assert.equal(looksLikePart('a[1]', '/'), true)
  assert.equal(looksLikePart('order/run', '/'), false)
  assert.equal(looksLikePart('running: fast', ' '), false)
})

/** The path of a step that is nested this deep, and the path that earlier versions have written for it. */
function nestedPaths(start: string, depth: number): { now: string; before: string } {
  let now = start
  for (let level = 0; level < depth; level++) {
    now = `${now === '' ? '' : stepPrefix(now)}run:deep#${level % 3}`
  }
  const names = Array.from({ length: depth }, (_, level) => `run:deep#${level % 3}`)
  return { now, before: [...(start === '' ? [] : [start]), ...names].join('/') }
}

test('the path of a step is bounded however deep it is, and each step has its own', () => {
  for (const start of ['', '[12]', `[key=${'k'.repeat(2_000)}]`]) {
    const paths = Array.from({ length: 300 }, (_, depth) => nestedPaths(start, depth + 1).now)
    assert.equal(new Set(paths).size, paths.length)
    for (const path of paths) {
      assert.ok(path.length <= start.length + 450, path)
      assert.ok(path.startsWith(start))
    }
  }
})

test('the path of a step of an earlier version is read as the path it has today', () => {
  for (const start of ['', '[12]', `[key=${'k'.repeat(2_000)}]`]) {
    for (const depth of [1, 2, 39, 40, 41, 42, 43, 80, 81, 82, 83, 84, 1_000]) {
      const { now, before } = nestedPaths(start, depth)
      assert.equal(currentPath(before), now, `${depth}`)
      assert.equal(currentPath(now), now)
    }
  }
  assert.equal(currentPath('[3]'), '[3]')
  assert.equal(currentPath(`run:a#0/key:${'k'.repeat(2_000)}`), `run:a#0/key:${'k'.repeat(2_000)}`)
  assert.equal(currentPath(''), '')
})

test('a step in a small group has the path with all names', () => {
  assert.equal(nestedPaths('[12]', 30).now, nestedPaths('[12]', 30).before)
  assert.match(nestedPaths('', 60).now, /^~[\w-]{22}(?:\/run:deep#\d)+$/)
})

test('half of a surrogate pair is refused: no journal keeps it', () => {
  assert.throws(() => keyedStepPath('\uD800'), { code: 'HDL_BAD_OPTION' })
})
