import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Quarantine } from '../../src/threads/quarantine.ts'

test('a key is kept out after a number of crashes in a row, and a surviving run ends the row', () => {
  const quarantine = new Quarantine(2)
  assert.equal(quarantine.crashed('a'), false)
  quarantine.survived('a')
  assert.equal(quarantine.crashed('a'), false)
  assert.equal(quarantine.crashesOf('a'), undefined)
  assert.equal(quarantine.crashed('a'), true)
  assert.equal(quarantine.crashesOf('a'), 2)
  assert.deepEqual(quarantine.keys(), ['a'])
  assert.equal(quarantine.release('a'), true)
  assert.equal(quarantine.release('a'), false)
  assert.equal(quarantine.crashesOf('a'), undefined)
})

test('one key per request does not fill the memory, and does not push out a poison key', () => {
  const quarantine = new Quarantine(2)
  quarantine.crashed('poison')
  quarantine.crashed('poison')
  for (let index = 0; index < 2 * Quarantine.mostKeys; index++) quarantine.crashed(`k${index}`)
  assert.deepEqual(quarantine.keys(), ['poison'])
  assert.equal(quarantine.release('k0'), false, 'forgotten')
  assert.equal(quarantine.release(`k${2 * Quarantine.mostKeys - 1}`), true, 'remembered')
})

test('when all are poison the oldest is forgotten', () => {
  const quarantine = new Quarantine(1)
  for (let index = 0; index <= Quarantine.mostKeys; index++) quarantine.crashed(`k${index}`)
  assert.equal(quarantine.keys().length, Quarantine.mostKeys)
  assert.equal(quarantine.crashesOf('k0'), undefined)
})
