import { createHash } from 'node:crypto'
import { isError } from '../errors.ts'
import type { GraphNode } from '../graph/graph.ts'
import { encodeValue } from '../journal/encode.ts'
import type { Clock } from '../kernel/clock.ts'

/** Inputs that are not data have a mark as well: to notice that data takes their place. */
const noInput = 'none'
const fromResults = 'from results'
const notData = 'not plain data'

/**
 * A short mark of a node's input, to notice that it changed between two runs. Two inputs have the
 * same mark when they are equal as data; what is made from results, or is no data, has one mark each.
 *
 * By the encoding of results, in which equal data has equal bytes. `v8.serialize` would tell apart an
 * integer from the same number in a field that has held a fraction (docs/decisions/0115).
 *
 * @returns A promise for an input that takes longer than a moment.
 */
export function fingerprint({ input }: GraphNode, clock: Clock): string | Promise<string> {
  if (input === undefined) return noInput
  if (typeof input === 'function') return fromResults
  try {
    const encoding = encodeValue('input', input, Infinity, clock)
    return 'body' in encoding ? hashOf([encoding.body]) : hashPieces(encoding.pieces)
  } catch (error) {
    return markOf(error)
  }
}

type Pieces = Extract<ReturnType<typeof encodeValue>, { pieces: unknown }>['pieces']

async function hashPieces(pieces: Pieces): Promise<string> {
  const hash = createHash('sha256')
  try {
    for await (const piece of pieces) hash.update(piece)
  } catch (error) {
    return markOf(error)
  }
  return shortened(hash.digest('base64url'))
}

function hashOf(pieces: readonly Uint8Array[]): string {
  const hash = createHash('sha256')
  for (const piece of pieces) hash.update(piece)
  return shortened(hash.digest('base64url'))
}

/** 96 bits: two of a billion inputs collide with a chance of one in 10^11. */
function shortened(hash: string): string {
  return hash.slice(0, 16)
}

/** A thread job will say itself that its input is no data; a loop job may take whatever it likes. */
function markOf(error: unknown): string {
  if (isError(error, 'HDL_NOT_CLONEABLE')) return notData
  throw error
}
