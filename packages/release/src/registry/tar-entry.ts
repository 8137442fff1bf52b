import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { list, type ReadEntry } from 'tar'

/**
 * The first file of a `.tgz` whose path matches, up to `maxBytes` of it. Undefined when there is none,
 * also because the archive cannot be read: whoever sends it finds out that it is damaged.
 *
 * *Cancellation*: none; it reads one file once, decompressed off the loop.
 */
export async function findInTarball(
  file: string,
  pattern: RegExp,
  maxBytes: number,
): Promise<{ path: string; text: string } | undefined> {
  const found: { path: string; pieces: Buffer[] }[] = []
  const parser = list({
    onReadEntry: (entry: ReadEntry) => {
      if (found.length > 0 || !pattern.test(entry.path)) return
      const pieces: Buffer[] = []
      found.push({ path: entry.path, pieces })
      entry.on('data', (piece: Buffer) => pieces.push(piece))
    },
  })
  try {
    await pipeline(createReadStream(file), createGunzip(), async (tar: AsyncIterable<Buffer>) => {
      for await (const piece of tar) parser.write(piece)
      parser.end()
    })
  } catch {
    return undefined
  }
  const [first] = found
  if (first === undefined) return undefined
  const text = Buffer.concat(first.pieces).subarray(0, maxBytes).toString('utf8')
  return { path: first.path, text }
}
