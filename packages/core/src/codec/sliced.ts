import type { Clock } from '../kernel/clock.ts'
import { Slices } from '../kernel/slices.ts'
import { Decoder } from './decoder.ts'
import type { Encoder } from './encoder.ts'

/**
 * How much a step does between two looks at the clock, in bytes of work: about 0.3 ms. A value that
 * is done after the first step never leaves the tick.
 */
export const stepBudget = 256 * 1024

/** The rest of a value that its first step did not complete, in slices that let the loop breathe. */
export async function* encodeSliced(
  encoder: Encoder,
  clock: Clock,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
  const slices = new Slices(clock, 1)
  for (;;) {
    // First of all: the step that showed how large the value is belongs to the caller's tick.
    await slices.next()
    let done = false
    do done = encoder.step(stepBudget)
    while (!done && !slices.due)
    yield* encoder.take()
    if (done) return
  }
}

export interface Decoded {
  readonly value: unknown
  /** Values in it, the containers included. */
  readonly values: number
}

/** The value in `body`, or undefined when `isOver` said that nobody wants it any more. */
export async function decodeSliced(
  body: Uint8Array<ArrayBuffer>,
  clock: Clock,
  isOver: () => boolean,
): Promise<Decoded | undefined> {
  const decoder = new Decoder(body)
  const slices = new Slices(clock, 1)
  while (!decoder.step(stepBudget)) {
    if (slices.due) await slices.next()
    if (isOver()) return undefined
  }
  return { value: decoder.result, values: decoder.values }
}
