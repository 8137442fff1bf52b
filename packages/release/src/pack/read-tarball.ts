/** Reads a packed archive back: the proof is in the archive, not in our intention. */
import { createReadStream } from 'node:fs'
import { createGunzip } from 'node:zlib'
import type { ReadEntry } from 'tar'
import { through } from './pieces.ts'

export interface ArchiveContent {
  /** Inside the archive, in its order. */
  readonly files: readonly string[]
  /** What the wanted files contain, by path. */
  readonly texts: ReadonlyMap<string, string>
}

async function textOf(entry: ReadEntry): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of entry) pieces.push(piece)
  return Buffer.concat(pieces).toString('utf8')
}

/** Decompressed by Node's threads; only the wanted files are in memory. */
export async function readTarball(file: string, wanted: RegExp): Promise<ArchiveContent> {
  const files: string[] = []
  const texts: Promise<[path: string, text: string]>[] = []
  // Loaded where an archive is read: most processes only start the thread that does it.
  const { Parser } = await import('tar')
  const parser = new Parser({
    strict: true,
    onReadEntry: (entry) => {
      files.push(entry.path)
      if (wanted.test(entry.path)) {
        texts.push(textOf(entry).then((text): [string, string] => [entry.path, text]))
      } else entry.resume()
    },
  })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  parser.on('end', resolve)
  parser.on('error', reject)
  // Awaited below, when all pieces are through.
  promise.catch(() => undefined)
  for await (const piece of through(createReadStream(file), createGunzip())) {
    if (parser.write(piece)) continue
    await Promise.race([promise, new Promise<void>((go) => parser.once('drain', go))])
  }
  parser.end()
  await promise
  return { files, texts: new Map(await Promise.all(texts)) }
}

/**
 * The first file of a `.tgz` whose path matches, up to `maxBytes` of it. Undefined when there is none,
 * also because the archive cannot be read: its upload finds out that it is damaged.
 *
 * *Cancellation*: none; it reads one file once, decompressed off the loop.
 */
export async function findInTarball(
  file: string,
  pattern: RegExp,
  maxBytes: number,
): Promise<{ path: string; text: string } | undefined> {
  try {
    const { texts } = await readTarball(file, pattern)
    const [first] = texts
    if (first === undefined) return undefined
    const [path, text] = first
    return { path, text: Buffer.from(text).subarray(0, maxBytes).toString('utf8') }
  } catch {
    return undefined
  }
}
