import { access } from 'node:fs/promises'
import { openJournal, type Journal } from '@heddle/core/lowlevel'
import type { ReleaseFolder } from '../lock/release-folder.ts'

/**
 * The releases of this repository, for reading; undefined when there never was one.
 *
 * *Cancellation*: none; it opens a file of this machine.
 * *Fairness*: does not apply; a release under way is not disturbed.
 */
export async function readReleases({ journal }: ReleaseFolder): Promise<Journal | undefined> {
  const isThere = await access(journal).then(
    () => true,
    () => false,
  )
  return isThere ? openJournal(`sqlite:${journal}`, { readOnly: true }) : undefined
}
