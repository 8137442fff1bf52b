import path from 'node:path'
import type { Artifact } from '../../model.ts'
import { piecesOf } from '../file-body.ts'
import type { FormField } from './core-metadata.ts'

export interface MultipartBody {
  readonly contentType: string
  readonly length: number
  readonly body: () => AsyncGenerator<Uint8Array>
}

/** A form with a file, made piece by piece. */
export function multipartBody(
  fields: readonly FormField[],
  fileField: string,
  artifact: Artifact,
): MultipartBody {
  // It must not occur in the content; the content's own hash does not.
  const boundary = `heddle-${artifact.sha256}`
  const part = (name: string, rest: string): string =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${rest}`
  const fileName = path.basename(artifact.file)
  const texts = fields.map(([name, value]) => `${part(name, '')}\r\n\r\n${value}\r\n`)
  const file = part(fileField, `; filename="${fileName}"\r\ncontent-type: application/octet-stream`)
  const head = Buffer.from(`${texts.join('')}${file}\r\n\r\n`)
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`)
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    length: head.length + artifact.size + tail.length,
    async *body() {
      yield head
      yield* piecesOf(artifact)
      yield tail
    },
  }
}
