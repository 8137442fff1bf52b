/** Pixels: a photo made by a formula, a box filter that makes it smaller, and a PNG encoder. No dependency but zlib. */
import { crc32, deflateSync } from 'node:zlib'

/** Red, green and blue of each pixel, row by row from the top. */
export interface Image {
  readonly width: number
  readonly height: number
  readonly pixels: Uint8Array
}

/** Stands for a photo that was read from a disk: hills under a sky, different for each number. */
export function takePhoto(number: number, width = 320, height = 240): Image {
  const pixels = new Uint8Array(width * height * 3)
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at += 3) {
      const hill = height * (0.55 + 0.2 * Math.sin((x + number * 37) / 60))
      const light = 160 + ((x * 7 + y * 13 + number * 29) % 32)
      const isSky = y < hill
      pixels[at] = isSky ? light - 80 : light - 90
      pixels[at + 1] = isSky ? light - 30 : light - 20
      pixels[at + 2] = isSky ? light + 60 : light - 120
    }
  }
  return { width, height, pixels }
}

/**
 * Each pixel of the result is the mean of a square of `factor` × `factor` pixels. Incomplete squares at the edges are
 * cut off.
 */
export function shrink(image: Image, factor: number): Image {
  const width = Math.floor(image.width / factor)
  const height = Math.floor(image.height / factor)
  const pixels = new Uint8Array(width * height * 3)
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      for (let color = 0; color < 3; color++) {
        pixels[(y * width + x) * 3 + color] = meanOfSquare(
          image,
          x * factor,
          y * factor,
          factor,
          color,
        )
      }
    }
  }
  return { width, height, pixels }
}

function meanOfSquare(
  image: Image,
  left: number,
  top: number,
  side: number,
  color: number,
): number {
  let sum = 0
  for (let y = top; y < top + side; y++) {
    for (let x = left; x < left + side; x++) sum += image.pixels[(y * image.width + x) * 3 + color]!
  }
  return Math.round(sum / (side * side))
}

const signature = Buffer.from('89504e470d0a1a0a', 'hex')

/** A PNG of 8 bits for each colour: https://www.w3.org/TR/png-3/. */
export function encodePng({ width, height, pixels }: Image): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  // 8 bits, red green blue; the other three bytes have only one meaning each that is in use.
  header.set([8, 2, 0, 0, 0], 8)
  // Each row starts with the number of its filter: 0, none.
  const rows = Buffer.alloc(height * (width * 3 + 1))
  for (let y = 0; y < height; y++) {
    rows.set(pixels.subarray(y * width * 3, (y + 1) * width * 3), y * (width * 3 + 1) + 1)
  }
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const framed = Buffer.alloc(body.length + 8)
  framed.writeUInt32BE(data.length, 0)
  framed.set(body, 4)
  framed.writeUInt32BE(crc32(body), body.length + 4)
  return framed
}
