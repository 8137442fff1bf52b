import assert from 'node:assert/strict'
import fs, { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { watchNativeCalls } from '../../src/watch/native-calls.ts'

test('N1: a replaced function has the same result, error, name, length and properties', () => {
  const originals = { parse: JSON.parse, read: fs.readFileSync, real: fs.realpathSync }
  const seen: string[] = []
  using _watching = watchNativeCalls((name) => seen.push(name))
  assert.notEqual(JSON.parse, originals.parse)
  assert.deepEqual(
    JSON.parse('[1]', (_key, value: unknown) => value),
    [1],
  )
  assert.throws(() => JSON.parse('{'), SyntaxError)
  assert.throws(() => readFileSync('/does/not/exist'), { code: 'ENOENT' })
  assert.equal(JSON.parse.name, originals.parse.name)
  assert.equal(fs.readFileSync.length, originals.read.length)
  assert.equal(fs.realpathSync.native, originals.real.native)
  // Node may call one of them inside another.
  assert.equal(seen[0], 'JSON.parse')
  assert.equal(seen.at(-1), 'readFileSync (node:fs)')
})

test('N2: with the last watch the originals are back, also for imports', () => {
  const originals = [JSON.parse, fs.readFileSync, readFileSync]
  const seen: string[] = []
  {
    using _outer = watchNativeCalls((name) => seen.push(`outer ${name}`))
    {
      using _inner = watchNativeCalls((name) => seen.push(`inner ${name}`))
      JSON.parse('1')
    }
    JSON.parse('1')
  }
  JSON.parse('1')
  assert.deepEqual(seen, ['outer JSON.parse', 'inner JSON.parse', 'outer JSON.parse'])
  assert.deepEqual([JSON.parse, fs.readFileSync, readFileSync], originals)
})

test('N2: a function that other code has put over ours stays', () => {
  const original = fs.existsSync
  const watching = watchNativeCalls(() => {})
  const theirs = (): boolean => false
  fs.existsSync = theirs
  watching[Symbol.dispose]()
  watching[Symbol.dispose]()
  assert.equal(fs.existsSync, theirs)
  fs.existsSync = original
})
