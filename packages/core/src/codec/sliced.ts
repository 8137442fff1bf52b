import { crc32 } from 'node:zlib'
import { HeddleError } from '../errors.ts'
import type { Clock } from '../kernel/clock.ts'
import { Slices } from '../kernel/slices.ts'
import { Decoder } from './decoder.ts'
import { Encoder } from './encoder.ts'

/**
 * How much a step does between two readings of the clock, in bytes of work: about 0.3 ms. A value that
 * is done after the first step never leaves the tick.
 */
export const stepBudget = 256 * 1024

/**
 * The rest of a value that its first step did not complete, in slices that let the loop breathe. `check` is called
 * before each: its error ends the pieces.
 */
export async function* encodeSliced(
  encoder: Encoder,
  clock: Clock,
  check?: () => void,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
  const slices = new Slices(clock, 1)
  for (;;) {
    // First of all: the step that showed how large the value is belongs to the caller's tick.
    await slices.next()
    check?.()
    let done = false
    do done = encoder.step(stepBudget)
    while (!done && !slices.due)
    yield* encoder.take()
    if (done) return
  }
}

/**
 * Like encodeSliced(), for a value that other code may change in between.
 *
 * The value is read twice, in slices. When each place was the same at both times, the value that
 * was written is the one that was there between the two readings. Otherwise it is a mixture that
 * never was, and the end of the pieces is an error instead. A place that was changed and changed
 * back is not noticed. The second reading costs as much as the first, without hash and file
 * (docs/decisions/0140).
 *
 * @throws `HDL_NOT_CLONEABLE`
 */
export async function* encodeUnchanged(
  what: string,
  value: unknown,
  encoder: Encoder,
  clock: Clock,
  check?: () => void,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
  let sum = 0
  for await (const piece of encodeSliced(encoder, clock, check)) {
    // Now: the caller may give the memory away.
    sum = crc32(piece, sum)
    yield piece
  }
  const again = new Encoder(what, value, Infinity)
  const sumAgain = await sumOf(again, clock, check)
  check?.()
  if (sum === sumAgain && again.bytes === encoder.bytes) return
  throw new HeddleError('HDL_NOT_CLONEABLE', {
    what: `The value of "${what}"`,
    action: 'be stored',
    cause: 'it was changed while it was written: return a copy, or stop changing it',
  })
}

/** The checksum of a value; undefined when it cannot be read. */
async function sumOf(
  encoder: Encoder,
  clock: Clock,
  check?: () => void,
): Promise<number | undefined> {
  let sum = 0
  try {
    for await (const piece of encodeSliced(encoder, clock, check)) sum = crc32(piece, sum)
    return sum
  } catch {
    return undefined
  }
}

export interface Decoded {
  readonly value: unknown
  /** Values in it, the containers included. */
  readonly values: number
}

/** The value in `body`, or undefined when `isOver` said that no caller wants it any more. */
export async function decodeSliced(
  body: Uint8Array<ArrayBuffer>,
  clock: Clock,
  isOver: () => boolean,
  mayLook = true,
): Promise<Decoded | undefined> {
  const decoder = new Decoder(body, mayLook)
  const slices = new Slices(clock, 1)
  while (!decoder.step(stepBudget)) {
    if (slices.due) await slices.next()
    if (isOver()) return undefined
  }
  return { value: decoder.result, values: decoder.values }
}
