/** Where the built files of the dashboard are. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

/** Only in a checkout. A published package has no such file, and the server brings the built files. */
const builder = path.resolve(import.meta.dirname, '../../../ui/build/build.ts')

/**
 * Returns the folder; in a checkout it is built first when its sources have changed (docs/decisions/0500). Undefined:
 * the server's own files are current.
 *
 * *Cancellation*: none: a build takes a second.
 */
export async function findSite(): Promise<string | undefined> {
  // oxlint-disable-next-line node/no-sync -- once, before anything is served
  if (!existsSync(builder)) return undefined
  const { buildUi } = (await import(pathToFileURL(builder).href)) as {
    readonly buildUi: () => Promise<string>
  }
  return buildUi()
}
