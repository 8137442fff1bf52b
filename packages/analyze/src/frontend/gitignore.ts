/**
 * The patterns of `.gitignore` files, as git understands them.
 *
 * A file's patterns hold in its folder and below; the last one that matches wins; `!` brings back files that
 * an earlier one left out, but nothing comes back from a folder that is itself left out.
 */
import { escapePattern } from '../escape-pattern.ts'

interface Pattern {
  readonly matches: RegExp
  readonly isNegated: boolean
  readonly isFolderOnly: boolean
}

/** The patterns that hold in a folder: its own, after those of the folders above. */
export class IgnoreRules {
  static readonly none: IgnoreRules = new IgnoreRules(undefined, '', [])

  readonly #above: IgnoreRules | undefined
  readonly #folder: string
  readonly #patterns: readonly Pattern[]

  private constructor(
    above: IgnoreRules | undefined,
    folder: string,
    patterns: readonly Pattern[],
  ) {
    this.#above = above
    this.#folder = folder
    this.#patterns = patterns
  }

  /** `folder` has `/` as separator and none at its end. */
  below(folder: string, gitignore: string): IgnoreRules {
    const patterns = gitignore.split(/\r?\n/).flatMap((line) => toPattern(line) ?? [])
    return patterns.length === 0 ? this : new IgnoreRules(this, folder, patterns)
  }

  /** Whether a path right below a folder that is not ignored is. */
  ignores(path: string, isFolder: boolean): boolean {
    const relative = path.slice(this.#folder.length + 1)
    const last = this.#patterns.findLast(
      (pattern) => (isFolder || !pattern.isFolderOnly) && pattern.matches.test(relative),
    )
    return last === undefined ? (this.#above?.ignores(path, isFolder) ?? false) : !last.isNegated
  }
}

function toPattern(line: string): Pattern | undefined {
  let pattern = line.replace(/(?<!\\)\s+$/, '')
  if (pattern === '' || pattern.startsWith('#')) return undefined
  const isNegated = pattern.startsWith('!')
  if (isNegated) pattern = pattern.slice(1)
  const isFolderOnly = pattern.endsWith('/')
  if (isFolderOnly) pattern = pattern.slice(0, -1)
  if (pattern === '') return undefined
  // A slash at the start or in the middle ties a pattern to the folder of its file.
  const isTied = pattern.includes('/')
  if (pattern.startsWith('/')) pattern = pattern.slice(1)
  const source = `^${isTied ? '' : '(?:.*/)?'}${toSource(pattern)}$`
  return { matches: new RegExp(source, 'su'), isNegated, isFolderOnly }
}

function toSource(pattern: string): string {
  let source = ''
  for (let at = 0; at < pattern.length;) {
    const rest = pattern.slice(at)
    const [token, translated] = translateNext(rest, at === 0)
    source += translated
    at += token
  }
  return source
}

function translateNext(rest: string, isFirst: boolean): readonly [length: number, source: string] {
  if (isFirst && rest.startsWith('**/')) return [3, '(?:.*/)?']
  if (rest.startsWith('/**/')) return [4, '/(?:.*/)?']
  if (rest === '/**') return [3, '/.*']
  if (rest.startsWith('**')) return [2, '[^/]*']
  if (rest.startsWith('*')) return [1, '[^/]*']
  if (rest.startsWith('?')) return [1, '[^/]']
  const group = /^\[(!|\^)?(\]?[^\]/]*)\]/u.exec(rest)
  if (group !== null) {
    const members = (group[2] ?? '').replaceAll(/[\\\][&|~^]/gu, '\\$&')
    return [group[0].length, `[${group[1] === undefined ? '' : '^'}${members}]`]
  }
  const literal = /^\\?(.)/su.exec(rest)
  const [whole, character = ''] = literal ?? [rest]
  return [whole.length, escapePattern(character)]
}
