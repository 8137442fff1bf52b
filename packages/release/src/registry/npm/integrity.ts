import { parse } from 'ssri'

/** Stands for a version whose registry has no hash that we can compare. */
export const noHash = 'no hash'

/**
 * What `dist` says about the archive of a version: the hashes of the strongest algorithm that our archives are
 * hashed with, in the form of `VersionOnRegistry`. Read as SRI says: any of them may be that of the archive, and
 * options are ignored. Old versions, and some registries, have only `shasum`.
 */
export function hashesOf(integrity: unknown, shasum: unknown = ''): string {
  const found = typeof integrity === 'string' ? parse(integrity) : null
  const join = (algorithm: string, digests: readonly string[] = []): string =>
    digests.map((digest) => `${algorithm}-${digest}`).join(' ')
  const inHex = (algorithm: string): string =>
    join(
      algorithm,
      found?.[algorithm]?.map((hash) => hash.hexDigest()),
    )
  return (
    join(
      'sha512',
      found?.['sha512']?.map(({ digest }) => digest),
    ) ||
    inHex('sha256') ||
    (typeof shasum === 'string' && shasum !== '' ? `sha1-${shasum}` : inHex('sha1')) ||
    noHash
  )
}
