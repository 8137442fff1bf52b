import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError } from '@heddle/core'
import { encodeFrame, FrameReader, type Frame } from '../../src/cluster/frames.ts'

const call = (id: number, body: string) => ({
  id,
  method: 'POST',
  url: '/jobs/ä?wait=1',
  headers: { a: 'b' },
  body: Buffer.from(body),
})

const frames: readonly Frame[] = [
  {
    calls: [call(1, 'first'), call(2, ''), call(3, 'ö'.repeat(1_000))],
    answers: [],
    gone: [],
    long: [],
  },
  {
    calls: [],
    answers: [{ id: 1, status: 200, headers: {}, body: Buffer.from([0, 255]) }],
    gone: [7],
    long: [9],
  },
  { calls: [], answers: [], gone: [], long: [] },
]

test('frames are read whatever pieces they arrive in', () => {
  const bytes = Buffer.concat(frames.flatMap((frame) => encodeFrame(frame)))
  for (const size of [1, 2, 3, 5, 8, 100, bytes.length]) {
    const reader = new FrameReader()
    const found: Frame[] = []
    for (let at = 0; at < bytes.length; at += size) {
      found.push(...reader.read(Buffer.from(bytes.subarray(at, at + size))))
    }
    assert.deepEqual(found, frames)
  }
})

test('bytes that are not frames are refused', () => {
  const broken = (change: (bytes: Buffer) => void): Buffer => {
    const bytes = Buffer.concat(encodeFrame(frames[0]!))
    change(bytes)
    return bytes
  }
  for (const bytes of [
    Buffer.from('GET / HTTP/1.1\r\n\r\n'),
    broken((each) => each.writeUInt32BE(2 ** 31, 0)),
    broken((each) => each.writeUInt32BE(2 ** 31, 4)),
    broken((each) => each.write('}', 8)),
    Buffer.concat([Buffer.from([0, 0, 0, 8, 0, 0, 0, 4]), Buffer.from('null')]),
  ]) {
    assert.throws(
      () => new FrameReader().read(bytes),
      (error) => isError(error, 'HDL_BAD_INPUT'),
    )
  }
})
