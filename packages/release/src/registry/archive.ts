/** Checks whether the archive that a registry names can be fetched, and has the expected content. */
import { createHash } from 'node:crypto'
import type { HeddleError } from '@heddle/core'
import type { WaitOptions } from '@heddle/core/lowlevel'
import { isAmong } from './hashes.ts'
import type { HttpClient } from './http/client.ts'
import type { HttpAnswer, HttpRequest } from './http/request.ts'
import type { ArchiveStanding } from './registry.ts'

export interface ArchiveQuestion {
  readonly url: string
  /** In the form of `hashes.ts`. */
  readonly expected: string
  readonly headers: Readonly<Record<string, string>>
  /** The error of an inconclusive answer. */
  readonly failure: (answer: HttpAnswer, request: HttpRequest) => HeddleError
}

/** Larger archives than any registry takes. */
const largestArchive = 2 ** 31
/** Stores behind registries answer 403 for missing files. */
const missing = new Set([403, 404, 410])

/**
 * Fetches an archive and hashes it on the way; nothing of it is kept.
 *
 * *Cancellation*: leaves nothing behind.
 */
export async function lookAtArchive(
  http: HttpClient,
  { url, expected, headers, failure }: ArchiveQuestion,
  wait: WaitOptions,
): Promise<ArchiveStanding> {
  const [, algorithm = 'sha512'] = /^(sha\d+)-/.exec(expected) ?? []
  const hash = createHash(algorithm)
  const request: HttpRequest = {
    method: 'GET',
    url,
    action: `GET ${url.slice(url.lastIndexOf('/') + 1)}`,
    headers: { 'cache-control': 'no-cache', ...headers },
    maxBytes: largestArchive,
    sink: (piece) => hash.update(piece),
  }
  const answer = await http.send(request, wait)
  if (missing.has(answer.status)) return { is: 'missing' }
  if (answer.status !== 200) throw failure(answer, request)
  const found = `${algorithm}-${hash.digest(algorithm === 'sha512' ? 'base64' : 'hex')}`
  return isAmong(found, expected) ? { is: 'as-expected' } : { is: 'different', expected, found }
}
