/** The config file of a worker: what the flags of `heddle work` say, as JSON. Flags win. */
import { readFile } from 'node:fs/promises'
import { HeddleError } from '@heddle/core'
import { describe } from '@heddle/core/lowlevel'

export interface WorkConfig {
  readonly server?: string
  readonly jobs?: string
  readonly name?: string
  readonly concurrency?: number
  readonly capabilities?: readonly string[]
  readonly tags?: readonly string[]
  /** Milliseconds. */
  readonly stopDeadline?: number
}

/** Read from the current folder when it is there and none is named. */
export const configName = 'heddle.worker.json'

type Check = (value: unknown) => boolean

const isText: Check = (value) => typeof value === 'string' && value !== ''
const isTexts: Check = (value) => Array.isArray(value) && value.every(isText)
const isCount: Check = (value) => Number.isInteger(value) && (value as number) >= 1

const fields: Readonly<Record<keyof WorkConfig, readonly [expected: string, check: Check]>> = {
  server: ['an address such as https://host:4500', isText],
  jobs: ['the path of a module', isText],
  name: ['a name', isText],
  concurrency: ['a whole number of at least 1', isCount],
  capabilities: ['a list of words', isTexts],
  tags: ['a list of words', isTexts],
  stopDeadline: ['milliseconds', isCount],
}

/**
 * *Cancellation*: none; it reads one file.
 * @throws `HDL_BAD_OPTION` for a file that cannot be read, and for what is not a setting of a worker.
 */
export async function readConfig(file: string | undefined): Promise<WorkConfig> {
  let text: string
  try {
    text = await readFile(file ?? configName, 'utf8')
  } catch (error) {
    if (file === undefined && (error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw bad('config', file ?? configName, `a file that can be read (${describe(error)})`)
  }
  let found: unknown
  try {
    found = JSON.parse(text)
  } catch (error) {
    throw bad('config', file ?? configName, `JSON (${describe(error)})`)
  }
  if (typeof found !== 'object' || found === null || Array.isArray(found)) {
    throw bad('config', file ?? configName, 'a JSON object')
  }
  for (const [name, value] of Object.entries(found)) {
    const field = fields[name as keyof WorkConfig] as (typeof fields)['server'] | undefined
    if (name === 'token') {
      throw bad(
        'token',
        'in the config file',
        'the variable HEDDLE_TOKEN: a secret is not a setting',
      )
    }
    if (field === undefined) {
      throw bad(name, value, `one of ${Object.keys(fields).join(', ')}`)
    }
    if (!field[1](value)) throw bad(name, value, field[0])
  }
  return found
}

function bad(option: string, value: unknown, expected: string): HeddleError {
  return new HeddleError('HDL_BAD_OPTION', { option, value, expected })
}
