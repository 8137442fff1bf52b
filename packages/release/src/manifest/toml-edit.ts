import { parse, type TomlTable } from 'smol-toml'
import { isDeepStrictEqual } from 'node:util'
import { badManifest, withoutMark } from './manifest-text.ts'
import { replaceIn, samePath, valueAt, withValueAt, type ValueChange } from './text-edit.ts'
import { tomlStrings } from './toml-strings.ts'

/** @throws `HDL_BAD_MANIFEST` when it is not TOML. */
export function parseToml(file: string, text: string): TomlTable {
  try {
    return parse(withoutMark(text))
  } catch (error) {
    throw badManifest(file, (error as Error).message.split('\n')[0]!, error)
  }
}

/** Quotes with the kind of string that was there, if that kind can hold the value. */
function quoted(value: string, before: string): string {
  const isLiteral = before.startsWith("'") && !/['\u0000-\u001f\u007f]/.test(value)
  if (isLiteral) return `'${value}'`
  return JSON.stringify(value).replaceAll('\u007f', '\\u007f')
}

/**
 * Changes text values of a TOML file and leaves every other byte as it is: comments, order, quotes,
 * line ends.
 *
 * @throws `HDL_BAD_MANIFEST` when the text is not TOML, or does not have these values.
 */
export function editToml(file: string, text: string, changes: readonly ValueChange[]): string {
  const before = parseToml(file, text)
  const strings = tomlStrings(text)
  let expected: unknown = before
  const replacements = changes.map(({ path, value }) => {
    const found = strings.find((string) => samePath(string.path, path))
    if (found === undefined || found.value !== valueAt(before, path)) {
      throw badManifest(file, `${path.join('.')} is not a string`)
    }
    expected = withValueAt(expected, path, value)
    const { start, end } = found
    return { start, end, text: quoted(value, text.slice(start, end)) }
  })
  const edited = replaceIn(text, replacements)
  // The walk over the text is ours, the parser is not: both must say the same.
  if (!isDeepStrictEqual(plain(parseToml(file, edited)), plain(expected))) {
    throw badManifest(file, 'it cannot be changed without changing something else')
  }
  return edited
}

/** Tables have different prototypes, depending on their parser. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, plain(field)]))
}
