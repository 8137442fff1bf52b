import { readFile } from 'node:fs/promises'
import { HeddleError } from '@heddle/core'
import { describe } from '@heddle/core/lowlevel'
import type { PackedPackage } from '../../model.ts'

/** A Sigstore bundle as it is attached to an upload. */
export interface ProvenanceBundle {
  readonly mediaType: string
  readonly text: string
}

interface Statement {
  readonly subject?: readonly { readonly name?: string; readonly digest?: { sha512?: string } }[]
}

/**
 * Reads a bundle that was signed before and sees that it speaks of exactly this archive. Its signature
 * is checked by the registry, which refuses a wrong one.
 *
 * *Cancellation*: none; it reads one small file.
 * @throws `HDL_BAD_OPTION` when it is not a bundle, or one of something else.
 */
export async function readProvenance(
  file: string,
  packed: PackedPackage,
): Promise<ProvenanceBundle> {
  const refuse = (expected: string, cause?: unknown): never => {
    throw new HeddleError(
      'HDL_BAD_OPTION',
      { option: 'provenanceFile', value: file, expected },
      { cause },
    )
  }
  let bundle: { mediaType?: unknown; dsseEnvelope?: { payload?: unknown } }
  let statement: Statement
  try {
    bundle = JSON.parse(await readFile(file, 'utf8')) as typeof bundle
    const payload = Buffer.from(String(bundle.dsseEnvelope?.payload), 'base64').toString('utf8')
    statement = JSON.parse(payload) as Statement
  } catch (error) {
    return refuse(`a Sigstore bundle with a statement inside (${describe(error)})`, error)
  }
  if (typeof bundle.mediaType !== 'string') return refuse('a Sigstore bundle with a media type')
  const name = `pkg:npm/${packed.name.replace(/^@/, '%40')}@${packed.version}`
  const [artifact] = packed.artifacts
  const sha512 = Buffer.from(artifact!.integrity.replace(/^sha512-/, ''), 'base64').toString('hex')
  const [subject, ...others] = statement.subject ?? []
  if (subject?.name !== name || subject.digest?.sha512 !== sha512 || others.length > 0) {
    return refuse(`a statement about ${name} with sha512 ${sha512} and nothing else`)
  }
  return { mediaType: bundle.mediaType, text: JSON.stringify(bundle) }
}
