/** What follows from what a registry, a repository and a tool say. By letter. */
import { version, workspace } from '../conditions.ts'
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

/** Published packages without a tag; null where the tool made no tag at all. */
export function missingTags(
  onRegistry: readonly string[],
  tags: readonly string[],
  nameOf: (letter: string) => string,
): string[] | null {
  if (tags.length === 0) return null
  return onRegistry.filter((letter) => !tags.includes(`${nameOf(letter)}@${version}`))
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
