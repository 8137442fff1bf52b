import { Readable } from 'node:stream'
import { ReadableStream, type ReadableStreamDefaultController } from 'node:stream/web'
import type { Transferable } from 'node:worker_threads'

/**
 * Streams on their way into a thread.
 *
 * A web stream can be transferred: the thread asks for one chunk at a time, so the source is read
 * no faster than the job reads. But when the thread ends, Node does not tell the source, which then
 * stays locked for ever. So a relay is transferred, and the source is cancelled when the
 * job ends, in whatever way, without having read all of it.
 */
export interface CarriedStreams {
  /** The input with relays in the place of its streams. */
  readonly input: unknown
  readonly transfer: readonly Transferable[]
  /** Cancels the unread part. */
  end(reason: unknown): void
}

interface Relay {
  readonly stream: ReadableStream
  end(reason: unknown): void
}

function relay(source: ReadableStream): Relay {
  const reader = source.getReader()
  let controller: ReadableStreamDefaultController
  const stream = new ReadableStream(
    {
      start(made) {
        controller = made
      },
      async pull() {
        const { done, value } = await reader.read()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: (reason) => reader.cancel(reason),
    },
    // Nothing is read ahead here: the thread's end of the transfer holds the one chunk in advance.
    { highWaterMark: 0 },
  )
  return {
    stream,
    end: (reason) => {
      // The owner of the source sees its error there; here there is no caller left to report it to.
      reader.cancel(reason).catch(() => undefined)
      try {
        controller.error(reason)
      } catch {
        // The stream had been read to its end.
      }
    },
  }
}

/** Streams deeper in the input than this are not found. */
const deepest = 4

/** Members of one array or object that are searched. */
const widest = 256

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/**
 * Takes the streams out of an input that could not be copied. Undefined when it has none.
 * Throws when one of them is already being read by other code.
 */
export function carryStreams(input: unknown): CarriedStreams | undefined {
  const relays: Relay[] = []
  const walk = (value: unknown, depth: number): unknown => {
    if (typeof value !== 'object' || value === null) return value
    if (value instanceof Readable || value instanceof ReadableStream) {
      const source = value instanceof Readable ? Readable.toWeb(value) : value
      const made = relay(source)
      relays.push(made)
      return made.stream
    }
    if (depth === deepest) return value
    if (Array.isArray(value)) {
      return value.length > widest ? value : value.map((item) => walk(item, depth + 1))
    }
    if (!isPlain(value)) return value
    const entries = Object.entries(value)
    if (entries.length > widest) return value
    return Object.fromEntries(entries.map(([key, item]) => [key, walk(item, depth + 1)]))
  }
  const carried = walk(input, 0)
  if (relays.length === 0) return undefined
  return {
    input: carried,
    transfer: relays.map(({ stream }) => stream as unknown as Transferable),
    end: (reason) => {
      for (const each of relays) each.end(reason)
    },
  }
}
