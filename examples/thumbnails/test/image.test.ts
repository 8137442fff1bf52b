import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32, inflateSync } from 'node:zlib'
import { encodePng, shrink, takePhoto, type Image } from '../image.ts'

test('a pixel of the smaller image is the mean of its square, and edges that are left over are cut off', () => {
  const width = 5
  const pixels = Uint8Array.from({ length: width * 2 * 3 }, (_, i) => Math.floor(i / 3) * 10)
  const small = shrink({ width, height: 2, pixels }, 2)
  // The first square has the values 0, 10, 50 and 60.
  assert.deepEqual(small, {
    width: 2,
    height: 1,
    pixels: Uint8Array.of(30, 30, 30, 50, 50, 50),
  })
})

test('a decoder of PNG gets the pixels that were encoded', () => {
  const image = shrink(takePhoto(3), 8)
  assert.deepEqual([image.width, image.height], [40, 30])
  assert.deepEqual(decodePng(encodePng(image)), image)
})

/** Reads what the encoder writes, by the format and not by the encoder: every checksum is checked. */
function decodePng(png: Buffer): Image {
  assert.equal(png.toString('latin1', 0, 8), '\u0089PNG\r\n\u001A\n')
  const chunks = new Map<string, Buffer>()
  for (let at = 8; at < png.length;) {
    const length = png.readUInt32BE(at)
    const body = png.subarray(at + 4, at + 8 + length)
    assert.equal(png.readUInt32BE(at + 8 + length), crc32(body))
    chunks.set(body.toString('latin1', 0, 4), body.subarray(4))
    at += 12 + length
  }
  assert.deepEqual([...chunks.keys()], ['IHDR', 'IDAT', 'IEND'])
  const header = chunks.get('IHDR')!
  assert.deepEqual([...header.subarray(8)], [8, 2, 0, 0, 0])
  const width = header.readUInt32BE(0)
  const height = header.readUInt32BE(4)
  const rows = inflateSync(chunks.get('IDAT')!)
  const pixels = new Uint8Array(width * height * 3)
  for (let y = 0; y < height; y++) {
    const start = y * (width * 3 + 1)
    assert.equal(rows[start], 0)
    pixels.set(rows.subarray(start + 1, start + 1 + width * 3), y * width * 3)
  }
  return { width, height, pixels }
}
