import { Encoder } from '../codec/encoder.ts'
import { oneByte } from '../codec/one-byte.ts'
import { decodeSliced, encodeUnchanged, stepBudget } from '../codec/sliced.ts'
import { HeddleError, describe, isError } from '../errors.ts'
import type { Clock } from '../kernel/clock.ts'

/** Bytes of a value, in pieces. */
export type Pieces = AsyncIterable<Uint8Array<ArrayBuffer>> | readonly Uint8Array<ArrayBuffer>[]

/** A value that is encoded, or the rest of one that takes longer than a moment. */
export type Encoding = { readonly body: Uint8Array<ArrayBuffer> } | { readonly pieces: Pieces }

/** No value at all is the most frequent one. */
const nothing: Encoding = { body: new Uint8Array(0) }

/** Those of one byte, by that byte. Nobody changes or gives away a body that is so small. */
const small: (Encoding | undefined)[] = []

/**
 * Encodes a small value at once; begins with a large one (J7). Either way the bytes are those of a value that
 * existed: when a large one is changed before its last piece, the pieces end with an error.
 *
 * @throws `HDL_NOT_CLONEABLE`; the pieces throw it too.
 */
export function encodeValue(
  node: string,
  value: unknown,
  inlineLimit: number,
  clock: Clock,
): Encoding {
  if (value === undefined) return nothing
  const byte = oneByte(value)
  if (byte !== undefined) return (small[byte] ??= { body: Uint8Array.of(byte) })
  const encoder = new Encoder(node, value, Infinity)
  if (!encoder.step(stepBudget)) return { pieces: encodeUnchanged(node, value, encoder, clock) }
  const whole = encoder.takeWhole()
  if (whole === undefined) return { pieces: encoder.take() }
  return whole.length <= inlineLimit ? { body: whole } : { pieces: [whole] }
}

/** The bytes of a value that may be of any size. */
export function encodePieces(what: string, value: unknown, clock: Clock): Pieces {
  const encoding = encodeValue(what, value, Infinity, clock)
  return 'body' in encoding ? [encoding.body] : encoding.pieces
}

export async function collectPieces(pieces: Pieces): Promise<Uint8Array<ArrayBuffer>[]> {
  const collected: Uint8Array<ArrayBuffer>[] = []
  for await (const piece of pieces) collected.push(piece)
  return collected
}

/** The value of which these are the bytes. */
export async function decodeValue(
  body: Uint8Array<ArrayBuffer>,
  node: string,
  store: string,
  clock: Clock,
): Promise<unknown> {
  if (body.length === 0) return undefined
  try {
    const decoded = await decodeSliced(body, clock, () => false)
    return decoded?.value
  } catch (error) {
    if (!isError(error, 'HDL_STORE_FAILED')) throw error
    const cause = `it is damaged (${error.details.cause})`
    throw unreadable(node, store, cause, error)
  }
}

export function unreadable(
  node: string,
  store: string,
  cause: unknown,
  error?: unknown,
): HeddleError<'HDL_STORE_FAILED'> {
  const action = `read the result of "${node}"`
  return new HeddleError(
    'HDL_STORE_FAILED',
    { store, action, cause: describe(cause) },
    { cause: error },
  )
}
