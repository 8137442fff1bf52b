import { openJournal, type Journal } from '@heddle/core/lowlevel'
import type { ReleaseFolder } from '../lock/release-folder.ts'
import { isThere } from '../workspace/is-there.ts'

/**
 * The releases of this repository, for reading; undefined when there never was one.
 *
 * *Cancellation*: none; it opens a file of this machine.
 */
export async function readReleases({ journal }: ReleaseFolder): Promise<Journal | undefined> {
  const isRecorded = await isThere(journal)
  return isRecorded ? openJournal(`sqlite:${journal}`, { readOnly: true }) : undefined
}
