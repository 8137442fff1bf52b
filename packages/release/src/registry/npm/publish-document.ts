/**
 * The document that publishes a version: metadata, with the archive inside in base64.
 *
 *   { _id, name, description, dist-tags, versions: { [version]: manifest + dist }, access,
 *     _attachments: { [archive]: { content_type, data: "…", length } } }
 *
 * It is the format that the npm client sends (a test compares the two byte by byte), but it is never
 * in memory as a whole: an archive of 100 MB would be a string of 133 MB, and making, encoding and
 * copying it blocks the loop for as long as it takes.
 */
import type { Artifact, PackedPackage } from '../../model.ts'
import { piecesOf } from '../file-body.ts'
import type { ProvenanceBundle } from './provenance.ts'
import { archiveUrl } from './urls.ts'

export interface PublishDocument {
  /** Bytes of the whole document. */
  readonly length: number
  /** Makes the document, piece by piece. */
  readonly body: () => AsyncGenerator<Uint8Array>
}

export interface DocumentOptions {
  readonly registry: string
  readonly distTag: string
  readonly access?: 'public' | 'restricted' | undefined
  readonly provenance?: ProvenanceBundle | undefined
  readonly gitHead?: string | undefined
  /** Shown on the package's page: registries take it from here and not from the archive. */
  readonly readme?: { readonly name: string; readonly text: string } | undefined
}

export function publishDocument(packed: PackedPackage, options: DocumentOptions): PublishDocument {
  const artifact = packed.artifacts[0]!
  const [before, after] = around(packed, artifact, options)
  const head = Buffer.from(before)
  const tail = Buffer.from(after)
  return {
    length: head.length + Math.ceil(artifact.size / 3) * 4 + tail.length,
    async *body() {
      yield head
      for await (const piece of piecesOf(artifact)) yield Buffer.from(piece.toString('base64'))
      yield tail
    },
  }
}

/** The text before and after the archive. */
function around(
  packed: PackedPackage,
  artifact: Artifact,
  options: DocumentOptions,
): readonly [string, string] {
  const { name, version } = packed
  const { provenance } = options
  const metadata = JSON.stringify(metadataOf(packed, artifact, options)).slice(0, -1)
  const archive = JSON.stringify(`${name}-${version}.tgz`)
  const bundle =
    provenance === undefined
      ? ''
      : `,${JSON.stringify(`${name}-${version}.sigstore`)}:${JSON.stringify({
          content_type: provenance.mediaType,
          data: provenance.text,
          length: provenance.text.length,
        })}`
  return [
    `${metadata},"_attachments":{${archive}:{"content_type":"application/octet-stream","data":"`,
    `","length":${artifact.size}}${bundle}}}`,
  ]
}

function metadataOf(packed: PackedPackage, artifact: Artifact, options: DocumentOptions): object {
  const { name, version } = packed
  const { registry, distTag, access, readme, gitHead } = options
  const manifest = {
    ...packed.manifest,
    name,
    version,
    ...(readme === undefined ? {} : { readme: readme.text, readmeFilename: readme.name }),
    ...(gitHead !== undefined && { gitHead }),
    _nodeVersion: process.versions.node,
    _id: `${name}@${version}`,
    dist: {
      integrity: artifact.integrity,
      shasum: artifact.sha1,
      // Clients take the scheme of the registry they ask: an old mirror may have only this one.
      tarball: archiveUrl(registry, packed).replace(/^https:/, 'http:'),
    },
  }
  return {
    _id: name,
    name,
    description: packed.manifest['description'],
    'dist-tags': { [distTag]: version },
    versions: { [version]: manifest },
    access,
  }
}
