import assert from 'node:assert/strict'
import test from 'node:test'
import { firstUi, pressKey, type UiState } from '../../src/view/ui-state.ts'

function type(keys: readonly string[], rows = 100, from: UiState = firstUi): UiState {
  return keys.reduce((ui, key) => pressKey(ui, key, rows) ?? ui, from)
}

test('f goes from all to active to failed and back', () => {
  assert.deepEqual(
    ['f', 'f', 'f'].map((_, i, keys) => type(keys.slice(0, i + 1)).filter),
    ['active', 'failed', 'all'],
  )
})

test('l shows the log and goes back to where it was called from', () => {
  assert.equal(type(['l']).view, 'log')
  assert.equal(type(['l', 'l']).view, 'window')
  assert.equal(type(['a', 'l', 'l']).view, 'all')
  assert.equal(type(['a', 'l', 'w', 'l', 'l']).view, 'window')
})

test('arrows scroll the view of all jobs, inside the list', () => {
  assert.equal(type(['a', 'down', 'page-down', 'up']).offset, 10)
  assert.equal(type(['a', 'up']).offset, 0)
  assert.equal(type(['a', 'end']).offset, 99)
  assert.equal(type(['a', 'end', 'home']).offset, 0)
  assert.equal(type(['a', 'down'], 0).offset, 0)
  assert.equal(pressKey(firstUi, 'down', 100), undefined)
})

test('? shows help until it is pressed again, or escape, or another view is chosen', () => {
  assert.equal(type(['?']).help, true)
  assert.equal(type(['?', '?']).help, false)
  assert.equal(type(['?', 'escape']).help, false)
  assert.equal(type(['?', 'w']).help, false)
  assert.equal(pressKey(firstUi, 'x', 1), undefined)
})
