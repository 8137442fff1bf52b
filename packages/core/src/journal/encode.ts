import { joinPath } from '../attempts/part-path.ts'
import { Encoder } from '../codec/encoder.ts'
import { oneByte } from '../codec/one-byte.ts'
import { decodeSliced, encodeUnchanged, stepBudget } from '../codec/sliced.ts'
import { HeddleError, describe, isError } from '../errors.ts'
import { checkName } from '../kernel/check.ts'
import type { Clock } from '../kernel/clock.ts'
import { joinBytes } from '../sqlite/own-bytes.ts'
import type { CommitGuard, Transition } from './journal.ts'

/** Bytes of a value, in pieces. */
export type Pieces = AsyncIterable<Uint8Array<ArrayBuffer>> | readonly Uint8Array<ArrayBuffer>[]

/** A value that is encoded, or the rest of one that takes longer than a moment. */
export type Encoding = { readonly body: Uint8Array<ArrayBuffer> } | { readonly pieces: Pieces }

/** No value at all is the most frequent one. */
const nothing: Encoding = { body: new Uint8Array(0) }

/** Those of one byte, by that byte. A body that is so small is never changed or transferred. */
const small: (Encoding | undefined)[] = []

/** What errors about a value name: the node, or the element or step of it. */
export function nameOfWork({ node, part }: Pick<Transition, 'node' | 'part'>): string {
  return part === undefined ? node : joinPath(node, part.path, ' ')
}

/**
 * Encodes a small value at once; begins with a large one (J7). Either way the bytes are those of a value that
 * existed: when a large one is changed before its last piece, the pieces end with an error.
 *
 * A guard is asked at the end, which is the last moment at which the commit can be dropped.
 *
 * @throws `HDL_NOT_CLONEABLE`, `HDL_CANCELLED`; the pieces throw them too.
 */
export function encodeValue(
  node: string,
  value: unknown,
  inlineLimit: number,
  clock: Clock,
  guard?: CommitGuard,
): Encoding {
  const byte = value === undefined ? undefined : oneByte(value)
  if (value === undefined || byte !== undefined) {
    closeGuard(node, guard)
    return byte === undefined ? nothing : (small[byte] ??= { body: Uint8Array.of(byte) })
  }
  const encoder = new Encoder(node, value, Infinity)
  if (!encoder.step(stepBudget)) {
    if (guard === undefined) return { pieces: encodeUnchanged(node, value, encoder, clock) }
    return { pieces: encodeGuarded(node, value, encoder, clock, guard) }
  }
  closeGuard(node, guard)
  const whole = encoder.takeWhole()
  if (whole === undefined) return { pieces: encoder.take() }
  return whole.length <= inlineLimit ? { body: whole } : { pieces: [whole] }
}

async function* encodeGuarded(
  node: string,
  value: unknown,
  encoder: Encoder,
  clock: Clock,
  guard: CommitGuard,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
  yield* encodeUnchanged(node, value, encoder, clock, () => {
    if (guard.cancelled) throw dropped(node)
  })
  closeGuard(node, guard)
}

/** From here on the commit is not dropped. */
function closeGuard(node: string, guard: CommitGuard | undefined): void {
  if (guard?.close() === false) throw dropped(node)
}

function dropped(node: string): HeddleError<'HDL_CANCELLED'> {
  const reason = 'its attempt was aborted before its result was encoded'
  return new HeddleError('HDL_CANCELLED', {
    what: `The commit of "${node}"`,
    source: 'user',
    reason,
  })
}

/** The bytes of a value that may be of any size. */
export function encodePieces(
  what: string,
  value: unknown,
  clock: Clock,
  guard?: CommitGuard,
): Pieces {
  const encoding = encodeValue(what, value, Infinity, clock, guard)
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

/** Whether an error ends one commit only: nothing is wrong with the store. */
export function isOfValue(error: unknown): boolean {
  return isError(error, 'HDL_NOT_CLONEABLE') || isError(error, 'HDL_CANCELLED')
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

/** The largest value of a signal in bytes: it is written in one row with its consequences. */
const largestSignal = 256 * 1024

/**
 * The bytes of the value of a signal.
 * @throws `HDL_BAD_OPTION` for one without a name or with too large a value; `HDL_NOT_CLONEABLE`.
 */
export async function encodeSignal(
  { name, value }: { readonly name: string; readonly value: unknown },
  clock: Clock,
): Promise<Uint8Array<ArrayBuffer>> {
  checkName('name', name)
  const pieces = await collectPieces(encodePieces(`the signal "${name}"`, value, clock))
  const size = pieces.reduce((sum, piece) => sum + piece.length, 0)
  if (size > largestSignal) {
    const expected = `at most ${largestSignal} bytes: send the name of where it is`
    throw new HeddleError('HDL_BAD_OPTION', { option: 'value', value: `${size} bytes`, expected })
  }
  return joinBytes(pieces)
}
