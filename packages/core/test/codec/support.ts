import { Decoder } from '../../src/codec/decoder.ts'
import { Encoder } from '../../src/codec/encoder.ts'

/** Encodes all of a value, in steps of this size. */
export function encode(
  value: unknown,
  budget = Infinity,
  limit = Infinity,
): Uint8Array<ArrayBuffer> {
  const encoder = new Encoder('key', value, limit)
  const pieces: Uint8Array[] = []
  while (!encoder.step(budget)) pieces.push(...encoder.take())
  pieces.push(...encoder.take())
  return new Uint8Array(Buffer.concat(pieces))
}

export function decode(body: Uint8Array<ArrayBuffer>, budget = Infinity): unknown {
  const decoder = new Decoder(body)
  while (!decoder.step(budget));
  return decoder.result
}
