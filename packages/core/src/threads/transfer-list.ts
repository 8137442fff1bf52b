// A named import could not be linked on an old Node, which is to get a clear sentence: see
// kernel/node-version.ts.
import workerThreads, { type Transferable } from 'node:worker_threads'

/** Below this a copy is as fast as a transfer, and leaves the job's own buffer alone. */
const leastTransferred = 16 * 1024

/** Fields of a result that are searched: enough for `{ width, height, data }`. */
const mostFields = 16

/** The buffer of a value that covers all of it, when giving it away pays. */
function wholeBuffer(value: unknown): ArrayBuffer | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const buffer = ArrayBuffer.isView(value) ? value.buffer : value
  if (!(buffer instanceof ArrayBuffer)) return undefined
  if (buffer.detached) {
    throw new Error(
      'its buffer was given away with an earlier result; return a new one, or a copy, each time',
    )
  }
  if (buffer.byteLength < leastTransferred || workerThreads.isMarkedAsUntransferable(buffer))
    return undefined
  if (ArrayBuffer.isView(value) && value.byteLength !== buffer.byteLength) return undefined
  return buffer
}

/**
 * The part of a result that is moved to the loop instead of copied: a large buffer that the result, or one
 * of the fields of a plain object or array, owns as a whole.
 *
 * Copying 30 MB costs the loop about 20 ms, moving it nothing. The price is that the job's own
 * reference is empty afterwards; a job that returns the same buffer again gets an error.
 */
export function transferOf(value: unknown): Transferable[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const whole = wholeBuffer(value)
  if (whole !== undefined) return [whole]
  if (Array.isArray(value)) {
    if (value.length > mostFields) return undefined
  } else if (Object.getPrototypeOf(value) !== Object.prototype) return undefined
  let list: Transferable[] | undefined
  let seen = 0
  for (const key in value) {
    if (++seen > mostFields) break
    const buffer = wholeBuffer((value as Record<string, unknown>)[key])
    // Listing a buffer twice is an error; two views of one buffer are not.
    if (buffer !== undefined && !list?.includes(buffer)) (list ??= []).push(buffer)
  }
  return list
}
