import { createHash } from 'node:crypto'
import { serialize } from 'node:v8'
import type { GraphNode } from '../graph/graph.ts'

/** Inputs larger than this are not compared: hashing them would hold up the loop. */
const longestInput = 65_536

/**
 * A short mark of a node's fixed input, to notice that it changed between two runs.
 * Undefined for inputs that are made from results, that cannot be encoded, or that are large.
 */
export function fingerprint(node: GraphNode): string | undefined {
  const { input } = node
  if (input === undefined || typeof input === 'function') return undefined
  if (typeof input === 'string' && input.length > longestInput) return undefined
  if (ArrayBuffer.isView(input) && input.byteLength > longestInput) return undefined
  try {
    const bytes = serialize(input)
    if (bytes.length > longestInput) return undefined
    return createHash('sha256').update(bytes).digest('base64url').slice(0, 16)
  } catch {
    // Not plain data. A thread job will say so itself; a loop job may take whatever it likes.
    return undefined
  }
}
