import { hash } from 'node:crypto'
import { joinPath, looksLikePart } from './part-path.ts'

/** What other systems take as an idempotency key: RFC 8941 strings, with room for a prefix of the caller's. */
const longestKey = 200

/**
 * The key that names a piece of work for other systems: readable where it can be, a hash where names are too long, have
 * letters that a header cannot carry, or look like the name of a part. No two pieces of work of a run have the same.
 */
export function idempotencyKey(run: string, node: string, path = ''): string {
  const text = `${run}/${joinPath(node, path, '/')}`
  const isClear = /^[\x21-\x7e]*$/.test(text) && !looksLikePart(node, '/')
  if (text.length <= longestKey && isClear) return text
  return `${run.slice(0, 64)}/${hash('sha256', JSON.stringify([run, node, path]), 'base64url')}`
}
