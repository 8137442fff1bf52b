import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addLines, noLines, type LogLine } from '../../src/model/log-lines.ts'

let position = 0
const line = (text: string): LogLine => ({
  position: ++position,
  node: 'one',
  attempt: 0,
  at: position,
  text,
})
const texts = ({ lines }: { readonly lines: readonly LogLine[] }): string[] =>
  lines.map(({ text }) => text)

test('G1, G2, G3 the newest lines are kept, and the others counted', () => {
  const most = { lines: 3, characters: 1_000 }
  const first = addLines(noLines, ['a', 'b'].map(line), most)
  assert.deepEqual([texts(first), first.dropped], [['a', 'b'], 0])
  const second = addLines(first, ['c', 'd', 'e'].map(line), most)
  assert.deepEqual([texts(second), second.dropped], [['c', 'd', 'e'], 2])
  const third = addLines(second, ['f'].map(line), most)
  assert.deepEqual([texts(third), third.dropped], [['d', 'e', 'f'], 3])
  assert.equal(addLines(third, [], most).lines, third.lines)
})

test('G1, G2 very long lines: as many as there is room for, and always the newest', () => {
  const most = { lines: 100, characters: 10 }
  const kept = addLines(noLines, ['1234', '5678', '9012', '3456'].map(line), most)
  assert.deepEqual([texts(kept), kept.dropped], [['5678', '9012', '3456'], 1])
  const long = addLines(kept, [line('x'.repeat(50))], most)
  assert.deepEqual([long.lines.at(-1)!.text.length, long.dropped + long.lines.length], [50, 5])
  const longer = addLines(long, [line('y')], most)
  assert.deepEqual([texts(longer), longer.dropped], [['y'], 5])
})
