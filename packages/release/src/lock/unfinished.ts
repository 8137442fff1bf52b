import { readdir } from 'node:fs/promises'
import { HeddleError } from '@heddle/core'
import type { ReleaseFolder } from './release-folder.ts'

/**
 * A dry run changes nothing, so it repairs nothing either: neither manifests that a killed release left pinned nor
 * folders whose `postpack` did not run.
 *
 * *Cancellation*: none; it reads two folders of this machine.
 * @throws `HDL_RELEASE_UNFINISHED`.
 */
export async function refuseUnfinished({ pins, scripts }: ReleaseFolder): Promise<void> {
  const left = [
    ['manifests that were pinned in place', pins],
    ['what `prepack` has changed', scripts],
  ] as const
  for (const [what, folder] of left) {
    const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return []
      throw error
    })
    // Beside the records there may be a lock and its description.
    const records = names.filter((name) => name.endsWith('.json') && !name.includes('.lock'))
    if (records.length > 0)
      throw new HeddleError('HDL_RELEASE_UNFINISHED', { what, record: folder })
  }
}
