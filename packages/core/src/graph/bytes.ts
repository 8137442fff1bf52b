/**
 * Results that are bytes already: an image, a PDF, a text. Served over HTTP they are stored and sent unchanged, with their
 * content type.
 *
 * A plain object with a mark, because it crosses threads: classes do not survive that.
 */
import { HeddleError } from '../errors.ts'

export interface Bytes {
  readonly heddle: 'bytes'
  /** The content type: `image/svg+xml`. */
  readonly type: string
  readonly data: Uint8Array
}

const typePattern = /^[\w.+-]+\/[\w.+-]+(?: *;[\x20-\x7e]*)?$/

/**
 * A result that is stored and sent as it is.
 *
 * @throws `HDL_BAD_OPTION` when the type is not a content type, or the data is neither text nor bytes.
 * @example
 * bytes('<svg/>', 'image/svg+xml').data.length // => 6
 */
export function bytes(data: string | Uint8Array | ArrayBuffer, type: string): Bytes {
  if (typeof type !== 'string' || !typePattern.test(type)) {
    const expected = 'a content type: image/svg+xml'
    throw new HeddleError('HDL_BAD_OPTION', { option: 'type', value: type, expected })
  }
  if (typeof data === 'string') {
    return { heddle: 'bytes', type, data: new TextEncoder().encode(data) }
  }
  if (data instanceof Uint8Array) return { heddle: 'bytes', type, data }
  if (data instanceof ArrayBuffer) return { heddle: 'bytes', type, data: new Uint8Array(data) }
  const expected = 'text, a Uint8Array or an ArrayBuffer'
  throw new HeddleError('HDL_BAD_OPTION', { option: 'data', value: data, expected })
}

export function isBytes(value: unknown): value is Bytes {
  if (typeof value !== 'object' || value === null) return false
  const { heddle, type, data } = value as Partial<Bytes>
  return heddle === 'bytes' && typeof type === 'string' && data instanceof Uint8Array
}
