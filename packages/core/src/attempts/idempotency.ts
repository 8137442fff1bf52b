import { hash } from 'node:crypto'

/** What other systems take as an idempotency key: RFC 8941 strings, with room for a prefix of the caller's. */
const longestKey = 200

/**
 * The key that names a piece of work for other systems: readable where it can be, a hash where names are too long or have
 * letters that a header cannot carry.
 */
export function idempotencyKey(run: string, node: string, path = ''): string {
  const text = `${run}/${node}${path === '' || path.startsWith('[') ? '' : '/'}${path}`
  if (text.length <= longestKey && /^[\x21-\x7e]*$/.test(text)) return text
  return `${run.slice(0, 64)}/${hash('sha256', JSON.stringify([run, node, path]), 'base64url')}`
}
