/**
 * Bytes that may be given away to a thread.
 *
 *  B1  Only an array that covers all of its memory is given away, and never memory that Node shares between
 *      buffers (`Buffer.concat` and `Buffer.from` take small ones from a pool): giving that away throws, or
 *      takes the memory from its other users.
 *  B2  Everything else is copied. A caller that hands in an array gives up its right to the memory.
 */
// A named import could not be linked on an old Node, which is to get a clear sentence: see
// kernel/node-version.ts.
import workerThreads from 'node:worker_threads'

/** Fewer bytes are copied: giving the memory away costs more. */
const transferFrom = 16 * 1024

/** The pieces one behind the other, in memory that nothing else uses. A single piece that has its own is returned. */
export function joinBytes(pieces: readonly Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> {
  const [first] = pieces
  if (pieces.length === 1 && coversItsMemory(first!)) return first!
  let size = 0
  for (const piece of pieces) size += piece.length
  const all = new Uint8Array(size)
  let at = 0
  for (const piece of pieces) {
    all.set(piece, at)
    at += piece.length
  }
  return all
}

/** Adds the memory of these bytes to the transfer list of a message, if that is allowed and cheaper than a copy. */
export function giveAway(bytes: Uint8Array<ArrayBuffer>, transfer: ArrayBuffer[]): void {
  if (bytes.length >= transferFrom && coversItsMemory(bytes) && !transfer.includes(bytes.buffer)) {
    transfer.push(bytes.buffer)
  }
}

function coversItsMemory({ buffer, byteLength }: Uint8Array<ArrayBuffer>): boolean {
  return byteLength === buffer.byteLength && !workerThreads.isMarkedAsUntransferable(buffer)
}
