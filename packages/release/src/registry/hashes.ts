/**
 * Hashes of archives as text: `sha512-…` in base64, `sha256-…` and `sha1-…` in hexadecimal digits. A registry may know
 * several, with spaces between them: all of one algorithm, and any of them may be that of the archive.
 */
import type { Artifact } from '../model.ts'

/** The hash of one of our archives in an algorithm that the registry uses. */
export function hashAs(known: string, { integrity, sha256, sha1 }: Artifact): string {
  if (known.startsWith('sha1-')) return `sha1-${sha1}`
  return known.startsWith('sha256-') ? `sha256-${sha256}` : integrity
}

export function isAmong(hash: string, known: string): boolean {
  return known.split(' ').includes(hash)
}
