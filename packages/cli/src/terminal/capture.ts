/**
 * Captures the program's writes to its standard output and errors.
 *
 * While the live region is shown, a console.log() of a job would be written into the middle of it;
 * with --json it would be written between two objects. Captured text is handed on line by line.
 *
 * Known limit: only writes of this process and its threads are seen. A child process that inherited
 * the output writes past us.
 */
import { StringDecoder } from 'node:string_decoder'

/** The part of a stream that is replaced: `process.stdout` has it. */
export interface CapturedStream {
  write: NodeJS.WriteStream['write']
}

/** Calls `before` ahead of every write to a stream, until disposed. */
export function beforeWrites(stream: CapturedStream, before: () => void): Disposable {
  const wasOwn = Object.hasOwn(stream, 'write')
  const original = stream.write.bind(stream)
  const replacement = ((...args: Parameters<typeof original>) => {
    before()
    return original(...args)
  }) as typeof stream.write
  stream.write = replacement
  return { [Symbol.dispose]: () => putBack(stream, replacement, wasOwn ? original : undefined) }
}

/** Other code may have replaced our function by its own: then it stays, and still calls ours. */
function putBack(
  stream: CapturedStream,
  ours: CapturedStream['write'],
  original: CapturedStream['write'] | undefined,
): void {
  if (stream.write !== ours) return
  if (original !== undefined) stream.write = original
  else Reflect.deleteProperty(stream, 'write')
}

/** A line that has not ended by then is handed on as it is. */
const longestLine = 65_536

export interface Capture extends Disposable {
  /** Writes past the capture. */
  write(text: string, callback?: (error?: Error | null) => void): boolean
}

export function capture(stream: CapturedStream, onText: (text: string) => void): Capture {
  // oxlint-disable-next-line typescript/unbound-method -- called on its stream, put back as it was
  const original = stream.write
  const write: Capture['write'] = (text, callback) =>
    original.call(stream, text, undefined, callback)
  const wasOwn = Object.hasOwn(stream, 'write')
  const decoder = new StringDecoder('utf8')
  let rest = ''

  const take = (text: string): void => {
    rest += text
    const end = rest.length > longestLine ? rest.length : rest.lastIndexOf('\n') + 1
    if (end === 0) return
    const ended = rest.slice(0, end)
    rest = rest.slice(end)
    onText(ended)
  }
  const replacement = ((
    chunk: string | Uint8Array,
    encoding?: BufferEncoding | ((error?: Error | null) => void),
    callback?: (error?: Error | null) => void,
  ): boolean => {
    take(typeof chunk === 'string' ? chunk : decoder.write(Buffer.from(chunk)))
    const done = typeof encoding === 'function' ? encoding : callback
    // Through the stream, so that it is called when a write would have called it.
    return done === undefined ? true : write('', done)
  }) as typeof stream.write
  stream.write = replacement

  return {
    write,
    [Symbol.dispose]: () => {
      putBack(stream, replacement, wasOwn ? original : undefined)
      if (rest !== '') onText(rest)
      rest = ''
    },
  }
}
