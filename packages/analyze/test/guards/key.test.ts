import assert from 'node:assert/strict'
import { test } from 'node:test'
import { guardName, isKeyed, isNameOf } from '../../src/guards/key.ts'
import { findIn } from '../support/races.ts'

test('a key that is known at run time only is part of the name', () => {
  assert.equal(guardName('lock', undefined), 'lock')
  assert.equal(guardName('lock', '"all"'), 'lock')
  assert.ok(isKeyed(guardName('lock', 'b7.id')))
  assert.ok(isNameOf(guardName('lock', 'b7'), 'lock'))
  assert.ok(!isNameOf('locks', 'lock'))
})

async function racesIn(source: string): Promise<number> {
  const findings = await findIn(source)
  return findings.filter((finding) => finding.rule === 'H101').length
}

const program = `const KEY = 'all'
let client: unknown
const clients = new Map<string, unknown>()
export function get(key: string) {
  return lock.acquire(CHOSEN, async () => {
    if (!STATE) WRITE
  })
}
`
const one = program.replace('STATE', 'client').replace('WRITE', 'client = await connect()')
const each = program
  .replace('STATE', 'clients.get(key)')
  .replace('WRITE', 'clients.set(key, await connect())')

test('a guard by key does not protect state shared by all keys', async () => {
  assert.equal(await racesIn(one.replace('CHOSEN', 'key')), 1)
})

test('a guard by key protects the state of that key', async () => {
  assert.equal(await racesIn(each.replace('CHOSEN', 'key')), 0)
})

test('a guard by a constant protects everything', async () => {
  assert.equal(await racesIn(one.replace('CHOSEN', `'all'`)), 0)
  assert.equal(await racesIn(one.replace('CHOSEN', 'KEY')), 0)
})
