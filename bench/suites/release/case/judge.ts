/** Conclusions from the states of a registry, a repository and a tool, by letter. */
import { workspace } from '../conditions.ts'
import type { Reported } from '../tools/tool.ts'

export interface Claims {
  readonly published: readonly string[]
  readonly already: readonly string[]
  readonly failed: readonly string[]
}

/** Said to be there and is not, or said to have failed and is there. */
export function untrue(
  { published, already, failed }: Claims,
  onRegistry: readonly string[],
): string[] {
  const isThere = (letter: string): boolean => onRegistry.includes(letter)
  return [
    ...[...published, ...already].filter((letter) => !isThere(letter)),
    ...failed.filter(isThere),
  ]
}

/** Published packages that cannot be installed, because something that they need is not there. */
export function broken(onRegistry: readonly string[]): string[] {
  const isWhole = (letter: string): boolean =>
    onRegistry.includes(letter) && workspace[letter]!.every(isWhole)
  return onRegistry.filter((letter) => !isWhole(letter))
}

/** Published packages without a tag; null where the tool made no tag at all. `nameOf` gives the tag. */
export function missingTags(
  onRegistry: readonly string[],
  tags: readonly string[],
  nameOf: (letter: string) => string,
): string[] | null {
  if (tags.length === 0) return null
  return onRegistry.filter((letter) => !tags.includes(nameOf(letter)))
}

/** Letters instead of names: the scope is another one in each case. */
export function lettersOf(names: Reported): Reported {
  const short = (name: string): string => name.slice(name.indexOf('/') + 1)
  const { published, already, failed, notDone, message } = names
  return {
    published: published.map(short).toSorted(),
    already: already.map(short).toSorted(),
    failed: failed.map(short).toSorted(),
    notDone: notDone.map(short).toSorted(),
    message: message.replaceAll(/@[\w-]+\/([a-e])\b/g, '$1'),
  }
}

/** The observations of one run, as far as they are judged. */
export interface JudgedRun {
  readonly exit: number | string
  /** On the registry in the planned version, with an archive that can be fetched. */
  readonly published: readonly string[]
  readonly broken: readonly string[]
  readonly untrue: readonly string[]
  readonly treeClean: boolean
}

export interface JudgedCase {
  readonly first: JudgedRun
  readonly second: JudgedRun
  readonly missingTags: readonly string[] | null
  /** Uploads of a version that the registry had already, in both runs. */
  readonly doubleUploads: number
  readonly isDirty: boolean
}

/** What a tool has done wrong, as sentences; none when a user has nothing to repair. */
export function wrongs({
  first,
  second,
  missingTags: missing,
  doubleUploads,
  isDirty,
}: JudgedCase): string[] {
  const all = Object.keys(workspace)
  const isWhole = (run: JudgedRun): boolean => all.every((each) => run.published.includes(each))
  const found: string[] = []
  if (isDirty && first.published.length > 0) found.push('published a dirty work tree')
  for (const [name, run] of [
    ['first', first],
    ['second', second],
  ] as const) {
    if (run.exit === 0 && !isWhole(run)) found.push(`${name} run: exit code 0, not all is there`)
    if (run.untrue.length > 0)
      found.push(`${name} run: says what is not so of ${run.untrue.join()}`)
    if (run.broken.length > 0) found.push(`${name} run: ${run.broken.join()} cannot be installed`)
    if (!run.treeClean && !(isDirty && name === 'first')) found.push(`${name} run: a dirty tree`)
  }
  if (!isWhole(second)) found.push('not all is there after the second run')
  else if (second.exit !== 0) found.push('all is there and the second run fails')
  if (missing !== null && missing.length > 0) found.push(`no tag for ${missing.join()}`)
  if (doubleUploads > 0) found.push(`${doubleUploads} double uploads`)
  return found
}
