/**
 * Bytes as a statement takes them. Node 22 binds an array whose memory is empty as NULL, as every empty array is that
 * has come in a message: a column that is NOT NULL refuses it, and `INSERT OR IGNORE` drops the row without an error.
 */
export function toBlob(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === 0 ? emptyBlob : bytes
}

/** Empty, in memory that is not. */
const emptyBlob = new Uint8Array(new ArrayBuffer(1), 0, 0)
