import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Keymap, type KeyBinding, type KeyPress } from '../../src/app/keys.ts'

class Keyboard {
  readonly map = new Keymap()
  readonly done: string[] = []

  bind(keys: string, label = keys): KeyBinding {
    return { keys, label, group: 'g', run: () => void this.done.push(label) }
  }

  press(key: string, more: Partial<KeyPress> = {}): boolean {
    return this.map.press({ key, ctrl: false, alt: false, inField: false, at: 0, ...more })
  }
}

test('K1 the newest binding of a sequence runs, and the one before when it is gone', () => {
  const keys = new Keyboard()
  keys.map.add([keys.bind('p', 'old'), keys.bind('g r')])
  const remove = keys.map.add([keys.bind('p', 'new')])
  keys.press('p')
  remove()
  keys.press('p')
  assert.deepEqual(keys.done, ['new', 'old'])
  assert.deepEqual(
    keys.map.list().map(({ label }) => label),
    ['old', 'g r'],
  )
})

test('K2 two keys form a sequence within 1.2 s', () => {
  const keys = new Keyboard()
  keys.map.add([keys.bind('g r'), keys.bind('r', 'alone')])
  keys.press('g', { at: 0 })
  keys.press('r', { at: 1_000 })
  keys.press('g', { at: 5_000 })
  keys.press('r', { at: 6_300 })
  keys.press('g', { at: 9_000 })
  assert.equal(keys.press('x', { at: 9_100 }), false)
  assert.deepEqual(keys.done, ['g r', 'alone'])
})

test('K3 a field gets its letters', () => {
  const keys = new Keyboard()
  keys.map.add([keys.bind('p'), keys.bind('ctrl+k'), keys.bind('Escape')])
  assert.equal(keys.press('p', { inField: true }), false)
  assert.equal(keys.press('K', { inField: true, ctrl: true }), true)
  assert.equal(keys.press('Escape', { inField: true }), true)
  assert.equal(keys.press('p', { alt: true }), false)
  assert.deepEqual(keys.done, ['ctrl+k', 'Escape'])
})
