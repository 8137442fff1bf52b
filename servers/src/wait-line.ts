import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

/** Lines that are repeated in an error. */
const shownLines = 5

/**
 * Waits for a line that matches, without asking again and again: a server says when it is ready. All
 * streams are read to their ends, so that the program behind them never waits for room in a pipe.
 * Rejects when the streams end first, with the last lines.
 */
export function waitLine(streams: readonly Readable[], pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    const last: string[] = []
    let open = streams.length
    for (const stream of streams) {
      const lines = createInterface({ input: stream })
      lines.on('line', (line) => {
        if (pattern.test(line)) resolve(line)
        last.push(line)
        if (last.length > shownLines) last.shift()
      })
      lines.on('close', () => {
        if (--open === 0) reject(new Error(last.join('\n') || 'it said nothing'))
      })
    }
  })
}
