import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { Graph, job } from '@heddle/core'
import { systemClock } from '../../src/kernel/clock.ts'
import { fingerprint } from '../../src/run/fingerprint.ts'
import { longestTurn } from './longest-turn.ts'

const take = job<unknown, void>({ name: 'take' }, () => undefined)

async function markOf(input: unknown): Promise<string> {
  const graph = new Graph()
  graph.add('a', take, { input })
  return fingerprint(graph.get('a')!, systemClock)
}

test('equal data has equal fingerprints, different data has different ones', async () => {
  await fc.assert(
    fc.asyncProperty(fc.object(), fc.object(), async (a, b) => {
      assert.equal(await markOf(a), await markOf(structuredClone(a)))
      const isEqual = ((): boolean => {
        try {
          assert.deepStrictEqual(a, b)
          return JSON.stringify(a) === JSON.stringify(b)
        } catch {
          return false
        }
      })()
      if (!isEqual) assert.notEqual(await markOf(a), await markOf(b))
    }),
  )
})

test('how the engine happens to keep a number or a text does not matter', async () => {
  const fractions = [0.5, 2]
  fractions.shift()
  assert.equal(await markOf(fractions), await markOf([2]))
  const wide = `${'a'.repeat(40)}…`.slice(0, 40)
  assert.equal(await markOf(wide), await markOf('a'.repeat(40)))
  assert.notEqual(await markOf(0), await markOf(-0))
})

test('no input, an input from results and an input that is not plain data each have a mark of their own', async () => {
  const marks = await Promise.all([
    markOf(undefined),
    markOf(() => 1),
    markOf({ callback: () => 1 }),
    markOf(new URL('file:///')),
    markOf(null),
  ])
  assert.deepEqual(marks.slice(0, 4), ['none', 'from results', 'not plain data', 'not plain data'])
  assert.match(marks[4], /^[\w-]{16}$/)
})

test('a large input is compared to its last byte, without holding up the loop', async () => {
  const rows = Array.from({ length: 100_000 }, (_, i) => ({ id: i, name: `row ${i}` }))
  let marks: string[] = []
  const longest = await longestTurn(async () => {
    marks = await Promise.all([markOf(rows), markOf(rows)])
  })
  assert.ok(longest < 500, `the loop was held up for ${longest} ms`)
  assert.equal(marks[0], marks[1])
  rows.at(-1)!.name += '!'
  assert.notEqual(await markOf(rows), marks[0])

  const text = 'x'.repeat(3_000_000)
  assert.notEqual(await markOf(`${text}a`), await markOf(`${text}b`))
  const bytes = new Uint8Array(3_000_000)
  const before = await markOf(bytes)
  bytes[2_999_999] = 1
  assert.notEqual(await markOf(bytes), before)
})

test('a large input that turns out not to be plain data has the mark of one', async () => {
  const rows: unknown[] = Array.from({ length: 100_000 }, (_, i) => ({ id: i }))
  rows.push(() => 1)
  assert.equal(await markOf(rows), 'not plain data')
})
