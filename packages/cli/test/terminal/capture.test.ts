import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import test from 'node:test'
import { beforeWrites, capture, type CapturedStream } from '../../src/terminal/capture.ts'

function open(): { stream: PassThrough & CapturedStream; texts: string[]; passed: () => string } {
  const stream = new PassThrough() as PassThrough & CapturedStream
  const chunks: string[] = []
  stream.on('data', (chunk) => chunks.push(String(chunk)))
  return { stream, texts: [], passed: () => chunks.join('') }
}

test('whole lines are handed on, pieces are kept until their line ends', () => {
  const { stream, texts } = open()
  using _ = capture(stream, (text) => texts.push(text))
  stream.write('a\nb')
  stream.write('c')
  stream.write('\n')
  assert.deepEqual(texts, ['a\n', 'bc\n'])
})

test('buffered text is passed on at the end, and the stream is restored', async () => {
  const { stream, texts, passed } = open()
  const write: unknown = Reflect.get(stream, 'write')
  const captured = capture(stream, (text) => texts.push(text))
  stream.write('rest')
  captured.write('past')
  captured[Symbol.dispose]()
  assert.deepEqual(texts, ['rest'])
  assert.equal(Reflect.get(stream, 'write'), write)
  stream.write('after')
  await new Promise((resolve) => stream.end(resolve))
  assert.equal(passed(), 'pastafter')
})

test('callbacks of writes are called, with and without an encoding', async () => {
  const { stream } = open()
  using _ = capture(stream, () => {})
  await new Promise<void>((resolve) => void stream.write('a', () => resolve()))
  await new Promise<void>((resolve) => void stream.write('a', 'utf8', () => resolve()))
})

test('bytes may be cut in the middle of a character', () => {
  const { stream, texts } = open()
  using _ = capture(stream, (text) => texts.push(text))
  const bytes = Buffer.from('é\n')
  stream.write(bytes.subarray(0, 1))
  stream.write(bytes.subarray(1))
  assert.deepEqual(texts, ['é\n'])
})

test('a line without an end does not grow without limit', () => {
  const { stream, texts } = open()
  using _ = capture(stream, (text) => texts.push(text))
  for (let i = 0; i < 70; i++) stream.write('x'.repeat(1_000))
  assert.equal(texts.length, 1)
})

test('a capture that other code put over ours stays', () => {
  const { stream, texts } = open()
  const ours = capture(stream, (text) => texts.push(text))
  const theirs = ((text: string) => text.length > 0) as typeof stream.write
  stream.write = theirs
  ours[Symbol.dispose]()
  assert.equal(stream.write, theirs)
})

test('beforeWrites is called ahead of every write, and the stream is restored', async () => {
  const { stream, passed } = open()
  const order: string[] = []
  const hooked = beforeWrites(stream, () => order.push(passed()))
  stream.write('a')
  stream.write('b')
  hooked[Symbol.dispose]()
  stream.write('c')
  await new Promise((resolve) => stream.end(resolve))
  assert.equal(passed(), 'abc')
  assert.equal(order.length, 2)
  assert.ok(!Object.hasOwn(stream, 'write'))
})
