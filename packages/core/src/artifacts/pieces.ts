import { throwIfAborted } from '../kernel/abort.ts'
import { systemClock } from '../kernel/clock.ts'
import { waitFor } from '../kernel/wait-for.ts'
import { HeddleError } from '../errors.ts'
import type { ArtifactContent } from './artifact-store.ts'

/** Bytes that are hashed and written at a time: well below a millisecond of the loop. */
export const pieceBytes = 256 * 1024

/**
 * The content of an artifact in pieces of at most {@link pieceBytes}.
 *
 * *Cancellation*: by the signal, also while the content gives nothing. The content is closed, and its end is not waited
 * for.
 * @throws the error of the content; `HDL_BAD_OPTION` when it gives something else than text and bytes.
 */
export async function* piecesOf(
  content: ArtifactContent,
  what: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  throwIfAborted(what, signal)
  if (typeof content === 'string' || ArrayBuffer.isView(content)) {
    yield* slicesOf(toBytes(content))
    return
  }
  const iterator = iteratorOf(content)
  let isDone = false
  try {
    for (;;) {
      const next = await waitFor(Promise.resolve(iterator.next()), what, systemClock, { signal })
      if (next.done === true) {
        isDone = true
        return
      }
      for (const slice of slicesOf(toBytes(next.value))) {
        throwIfAborted(what, signal)
        yield slice
      }
    }
  } finally {
    if (!isDone) close(iterator)
  }
}

/** Why something cannot be the content of an artifact; asked where it is given, so that the stack has that line. */
export function objectionToContent(content: ArtifactContent): HeddleError | undefined {
  if (typeof content === 'string' || ArrayBuffer.isView(content)) return undefined
  const { [Symbol.asyncIterator]: makeAsync, [Symbol.iterator]: make } = (content ?? {}) as Partial<
    AsyncIterable<unknown> & Iterable<unknown>
  >
  const isIterable = typeof makeAsync === 'function' || typeof make === 'function'
  return isIterable ? undefined : wrongContent(content)
}

type AnyIterator = Iterator<unknown> | AsyncIterator<unknown>

function iteratorOf(content: ArtifactContent): AnyIterator {
  const { [Symbol.asyncIterator]: makeAsync, [Symbol.iterator]: make } = (content ?? {}) as Partial<
    AsyncIterable<unknown> & Iterable<unknown>
  >
  if (typeof makeAsync === 'function') return makeAsync.call(content)
  if (typeof make === 'function') return make.call(content)
  throw wrongContent(content)
}

/** A stream that hangs must not hold up a caller that has given up on it. */
function close(iterator: AnyIterator): void {
  const closing = async (): Promise<void> => {
    await iterator.return?.()
  }
  closing().catch(() => undefined)
}

function* slicesOf(bytes: Uint8Array): Generator<Uint8Array, void, undefined> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
}

function toBytes(piece: unknown): Uint8Array {
  if (typeof piece === 'string') return Buffer.from(piece)
  if (piece instanceof Uint8Array) return piece
  if (ArrayBuffer.isView(piece)) {
    return new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength)
  }
  throw wrongContent(piece)
}

function wrongContent(value: unknown): HeddleError {
  const expected = 'text, bytes, or a stream of either'
  return new HeddleError('HDL_BAD_OPTION', { option: 'content', value, expected })
}
