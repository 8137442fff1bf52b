/**
 * Inputs and results of jobs on workers, as they travel.
 *
 *     small and JSON ──▶ in the message itself
 *     anything else ──▶ bytes in the encoding of the journal, as a stream: large ones, binary data, dates, maps
 */
import { Encoder } from '../codec/encoder.ts'
import { decodeSliced, encodeUnchanged, stepBudget } from '../codec/sliced.ts'
import type { Clock } from '../kernel/clock.ts'

/** Values and characters that a message may have: parsing it takes less than a millisecond. */
const mostValues = 2_000
const mostCharacters = 64 * 1_024

/** Whether a value is small, and the same after JSON has carried it. `undefined` is: the field is left out. */
export function isSmallJson(value: unknown): boolean {
  if (value === undefined) return true
  const left: Budget = { values: mostValues, characters: mostCharacters }
  return isJson(value, left, 0)
}

interface Budget {
  values: number
  characters: number
}

/** Deeper than programs write, and far from the end of the stack. */
const deepest = 100

function isJson(value: unknown, left: Budget, depth: number): boolean {
  if (--left.values < 0 || depth > deepest) return false
  switch (typeof value) {
    case 'string':
      return (left.characters -= value.length) >= 0
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0)
    case 'boolean':
      return true
    case 'object':
      if (value === null) return true
      return Array.isArray(value)
        ? isJsonArray(value, left, depth)
        : isJsonObject(value, left, depth)
    case 'undefined':
    case 'bigint':
    case 'symbol':
    case 'function':
      return false
  }
}

function isJsonArray(items: readonly unknown[], left: Budget, depth: number): boolean {
  if (items.length > left.values) return false
  // A hole is undefined, which is refused.
  for (let index = 0; index < items.length; index++) {
    if (!isJson(items[index], left, depth + 1)) return false
  }
  return true
}

function isJsonObject(value: object, left: Budget, depth: number): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype) return false
  const keys = Object.keys(value)
  if (keys.length > left.values || Object.getOwnPropertySymbols(value).length > 0) return false
  for (const key of keys) {
    if (key === '__proto__' || key === 'toJSON') return false
    left.characters -= key.length
    if (!isJson((value as Record<string, unknown>)[key], left, depth + 1)) return false
  }
  return left.characters >= 0
}

type Pieces = AsyncIterable<Uint8Array<ArrayBuffer>> | readonly Uint8Array<ArrayBuffer>[]

/**
 * The bytes of a value, made in slices; none for `undefined`. `what` is named in errors.
 * @throws `HDL_NOT_CLONEABLE`; the pieces throw it too.
 */
export function fleetPieces(what: string, value: unknown, clock: Clock): Pieces {
  if (value === undefined) return []
  const encoder = new Encoder(what, value, Infinity)
  const isWhole = encoder.step(stepBudget)
  return isWhole ? encoder.take() : encodeUnchanged(what, value, encoder, clock)
}

/**
 * The value of which these are the bytes, read in slices.
 *
 * *Cancellation*: none; its time is bounded by its size.
 * @throws `HDL_STORE_FAILED` when they are damaged.
 */
export async function readFleetValue(
  bytes: Uint8Array<ArrayBuffer>,
  clock: Clock,
): Promise<unknown> {
  if (bytes.length === 0) return undefined
  const decoded = await decodeSliced(bytes, clock, () => false)
  return decoded?.value
}
