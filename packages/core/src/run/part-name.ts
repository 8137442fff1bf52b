import { HeddleError } from '../errors.ts'

/**
 * A name as the path of a part has it.
 * @throws `HDL_BAD_OPTION` for half a character, which no journal keeps.
 */
export function encodeName(option: string, name: string): string {
  if (name.isWellFormed()) return encodeURIComponent(name)
  const expected = 'a string of whole characters (it has half of a surrogate pair)'
  throw new HeddleError('HDL_BAD_OPTION', { option, value: name, expected })
}
