/** Settings of a long-running command in a JSON file: what its flags say. Flags win. */
import { readFile } from 'node:fs/promises'
import { HeddleError } from '@heddle/core'
import { describe } from '@heddle/core/lowlevel'

export type Check = (value: unknown) => boolean

/** The form of each setting, for people and as a check. */
export type Fields<T> = Readonly<Record<keyof T, readonly [expected: string, check: Check]>>

export const isText: Check = (value) => typeof value === 'string' && value !== ''
export const isTexts: Check = (value) => Array.isArray(value) && value.every(isText)
export const isCount: Check = (value) => Number.isInteger(value) && (value as number) >= 1

export interface SettingsFile<T> {
  /** Undefined: the usual one, which may be missing. */
  readonly file: string | undefined
  readonly usual: string
  readonly fields: Fields<T>
}

/**
 * *Cancellation*: none; it reads one file.
 * @throws `HDL_BAD_OPTION` for a file that cannot be read, and for an unknown setting.
 */
export async function readSettingsFile<T extends object>({
  file,
  usual,
  fields,
}: SettingsFile<T>): Promise<Partial<T>> {
  let text: string
  try {
    text = await readFile(file ?? usual, 'utf8')
  } catch (error) {
    if (file === undefined && (error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw bad('config', file ?? usual, `a file that can be read (${describe(error)})`)
  }
  let found: unknown
  try {
    found = JSON.parse(text)
  } catch (error) {
    throw bad('config', file ?? usual, `JSON (${describe(error)})`)
  }
  if (typeof found !== 'object' || found === null || Array.isArray(found)) {
    throw bad('config', file ?? usual, 'a JSON object')
  }
  for (const [name, value] of Object.entries(found)) {
    const field = (fields as Readonly<Record<string, Fields<T>[keyof T] | undefined>>)[name]
    if (name === 'token') {
      const expected = 'the variable HEDDLE_TOKEN: a secret is not a setting'
      throw bad('token', 'in the config file', expected)
    }
    if (field === undefined) throw bad(name, value, `one of ${Object.keys(fields).join(', ')}`)
    if (!field[1](value)) throw bad(name, value, field[0])
  }
  return found
}

function bad(option: string, value: unknown, expected: string): HeddleError {
  return new HeddleError('HDL_BAD_OPTION', { option, value, expected })
}
