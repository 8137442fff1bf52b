/**
 * Provenance: a signed statement about the place and the source of a build. It is made by the
 * libraries of npm and Sigstore, once for each archive; the journal keeps it, so that a second upload
 * does not sign again.
 */
import type { PackedPackage } from '../../model.ts'
import { buildServiceOf, type Environment } from '../id-token.ts'
import type { NpmConfig } from './npmrc.ts'
import type { ProvenanceBundle } from './provenance.ts'

/** Whether a package asks for provenance: by its manifest, or by the settings of npm (`.npmrc`, environment). */
export function wantsProvenance(
  manifest: Readonly<Record<string, unknown>>,
  config: NpmConfig,
): boolean {
  const { publishConfig } = manifest as {
    readonly publishConfig?: { readonly provenance?: unknown }
  }
  if (publishConfig?.provenance !== undefined) return publishConfig.provenance === true
  return config.isOn('provenance')
}

/** Why no provenance can be made here, in the words of npm; undefined when it can. */
export function provenanceProblem(
  env: Environment,
): { readonly problem: string; readonly todo: string } | undefined {
  switch (buildServiceOf(env)) {
    case 'GitHub Actions':
      if (env['ACTIONS_ID_TOKEN_REQUEST_URL']) return undefined
      return {
        problem:
          'provenance generation in GitHub Actions requires "write" access to the "id-token" permission',
        todo: 'Add `permissions: { id-token: write }` to the job.',
      }
    case 'GitLab CI':
      if (env['SIGSTORE_ID_TOKEN']) return undefined
      return {
        problem:
          'provenance generation in GitLab CI requires "SIGSTORE_ID_TOKEN" with "sigstore" audience in "id_tokens"',
        todo: 'Add it to the job.',
      }
    case undefined:
      return {
        problem:
          'automatic provenance generation is supported in GitHub Actions and GitLab CI only',
        todo: 'Release from there, or set `publishConfig.provenance` to false.',
      }
  }
}

/** Other addresses than the public ones of Sigstore: for tests and private installations. */
export interface SigstoreAddresses {
  readonly fulcioURL?: string
  readonly rekorURL?: string
}

/**
 * Signs the statement about one archive.
 *
 * *Cancellation*: none; the library has its own limits of time.
 */
export async function signProvenance(
  packed: PackedPackage,
  env: Environment,
): Promise<ProvenanceBundle> {
  const { default: library } = await import('libnpmpublish/lib/provenance.js')
  const { name, version, artifacts } = packed
  const sha512 = Buffer.from(artifacts[0]!.integrity.replace(/^sha512-/, ''), 'base64')
  const subject = {
    name: `pkg:npm/${name.replace(/^@/, '%40')}@${version}`,
    digest: { sha512: sha512.toString('hex') },
  }
  const addresses: SigstoreAddresses = {
    ...(env['SIGSTORE_FULCIO_URL'] && { fulcioURL: env['SIGSTORE_FULCIO_URL'] }),
    ...(env['SIGSTORE_REKOR_URL'] && { rekorURL: env['SIGSTORE_REKOR_URL'] }),
  }
  const bundle = await library.generateProvenance([subject], addresses)
  return { mediaType: bundle.mediaType, text: JSON.stringify(bundle) }
}
