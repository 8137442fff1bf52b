import { createHash, hash } from 'node:crypto'
import { isError } from '../errors.ts'
import type { GraphNode } from '../graph/graph.ts'
import { encodeValue, type Pieces } from '../journal/encode.ts'
import type { Clock } from '../kernel/clock.ts'

/** Fingerprints of inputs that are not data: to notice when data takes their place. */
const noInput = 'none'
const fromResults = 'from results'
const notData = 'not plain data'

/**
 * The fingerprint of a node's input, to notice that it changed between two runs. Inputs that are equal as data have the
 * same fingerprint. All inputs that are made from results share one, and all that are not data share another.
 *
 * By the encoding of results, in which equal data has equal bytes. `v8.serialize` distinguishes a list of
 * integers from the same list that has held a fraction before (docs/decisions/0115).
 *
 * @returns A promise for an input that takes longer than a moment.
 */
export function fingerprint({ input }: GraphNode, clock: Clock): string | Promise<string> {
  return typeof input === 'function' ? fromResults : fingerprintOf(input, clock)
}

/** The fingerprint of an input that is not made from results. */
export function fingerprintOf(input: unknown, clock: Clock): string | Promise<string> {
  if (input === undefined) return noInput
  if (typeof input === 'function') return notData
  try {
    const encoding = encodeValue('input', input, Infinity, clock)
    if (!('body' in encoding)) return hashPieces(encoding.pieces)
    return shortened(hash('sha256', encoding.body, 'base64url'))
  } catch (error) {
    return fingerprintOfFailure(error)
  }
}

async function hashPieces(pieces: Pieces): Promise<string> {
  const hashing = createHash('sha256')
  try {
    for await (const piece of pieces) hashing.update(piece)
  } catch (error) {
    return fingerprintOfFailure(error)
  }
  return shortened(hashing.digest('base64url'))
}

/** 96 bits: two of a billion inputs collide with a chance of one in 10^11. */
function shortened(digest: string): string {
  return digest.slice(0, 16)
}

/** An input that cannot be encoded is not an error here: a loop job may take any value, and a thread job refuses it itself. */
function fingerprintOfFailure(error: unknown): string {
  if (isError(error, 'HDL_NOT_CLONEABLE')) return notData
  throw error
}
