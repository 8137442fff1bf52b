/** The config file of a worker. */
import type { WorkerConcurrency } from '@heddle/worker'
import { isWorkerConcurrency } from './concurrency.ts'
import { isCount, isText, isTexts, readSettingsFile, type Fields } from './settings-file.ts'

interface WorkFields {
  readonly server: string
  readonly jobs: string
  readonly name: string
  readonly concurrency: WorkerConcurrency
  readonly capabilities: readonly string[]
  readonly tags: readonly string[]
  /** Milliseconds. */
  readonly stopDeadline: number
}

export type WorkConfig = Partial<WorkFields>

/** Read from the current folder when it is there and none is named. */
export const configName = 'heddle.worker.json'

const fields: Fields<WorkFields> = {
  server: ['an address such as https://host:4500', isText],
  jobs: ['the path of a module', isText],
  name: ['a name', isText],
  concurrency: [
    'a whole number of at least 1, or one for each place: { "loop": 50, "thread": 2 }',
    isWorkerConcurrency,
  ],
  capabilities: ['a list of words', isTexts],
  tags: ['a list of words', isTexts],
  stopDeadline: ['milliseconds', isCount],
}

/**
 * *Cancellation*: none; it reads one file.
 * @throws `HDL_BAD_OPTION` for a file that cannot be read, and for an unknown setting of a worker.
 */
export async function readConfig(file: string | undefined): Promise<WorkConfig> {
  return readSettingsFile({ file, usual: configName, fields })
}
