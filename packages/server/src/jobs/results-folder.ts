/**
 * Where results are when their folder was damaged.
 *
 * The cache on disk leaves a damaged folder alone and goes on in the next free name (`…-2`), empty. That is right
 * for a cache, and operators should hear of it: results that were promised are computed again. The cache
 * does not say which folder it has taken; the one it holds has the file that names the holder of its lock.
 */
import { readdir, stat } from 'node:fs/promises'
import path from 'node:path'

/** The first choice has no number at its end. */
const laterChoice = /^heddle-cache-v\d+-[0-9a-f]+-(\d+)$/

/**
 * The folder that an open cache holds, when it is not its first choice.
 *
 * *Cancellation*: none: it waits for the disk only.
 */
export async function otherFolder(directory: string): Promise<string | undefined> {
  const numberOf = (name: string): number => Number(laterChoice.exec(name)?.[1] ?? 0)
  const later = (await readdir(directory))
    .filter((name) => laterChoice.test(name))
    .toSorted((a, b) => numberOf(b) - numberOf(a))
  for (const name of later) {
    const folder = path.join(directory, name)
    const holder = await stat(path.join(folder, 'cache.lock.json')).catch(() => undefined)
    if (holder !== undefined) return folder
  }
  return undefined
}
