import { mkdtemp } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'

/** Names the folder of the bench, which is removed at its end. */
export const folderVariable = 'HEDDLE_BENCH_FOLDER'

/** A new folder for the files of one child. */
export function workFolder(): Promise<string> {
  return mkdtemp(path.join(process.env[folderVariable] ?? os.tmpdir(), 'work-'))
}
