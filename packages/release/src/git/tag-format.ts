/** How the Git tags of a release are called. */
import { HeddleError } from '@heddle/core'
import type { Workspace } from '../model.ts'

/** How Git tags are called: `{name}@{version}`, `v{version}`, `{name}-v{version}`. */
export function tagFormatOf(tool: Workspace['tool'], format: string | undefined): string {
  return format ?? (tool === 'single' ? 'v{version}' : '{name}@{version}')
}

/** What Git takes in no name of a ref: see `git check-ref-format`. */
const badRef =
  // oxlint-disable-next-line no-control-regex -- Git refuses control characters
  /[\u0000- ~^:?*[\\\u007f]|\.\.|@\{|\/\/|\/\.|\.lock(?:\/|$)|^[/.]|[/.]$/

/** Whether Git takes a text for the name of a tag. */
function isRefName(tag: string): boolean {
  return !badRef.test(tag)
}

/** What a format should be instead; undefined for one that is right. */
export function tagFormatProblem(format: string): string | undefined {
  const hasVersion = format.split('{version}').length === 2
  if (!hasVersion) return 'a text with {version}, such as "{name}@{version}"'
  return isRefName(tagName('name', '1.0.0', format))
    ? undefined
    : 'a name that Git accepts: no spaces, no "..", none of ~ ^ : ? * [ \\'
}

/**
 * @throws `HDL_BAD_OPTION` for a format without a version, because every release would have the same tag, and
 * for one that Git takes for no tag: that would come out after everything is published.
 */
export function checkTagFormat(format: string): void {
  const expected = tagFormatProblem(format)
  if (expected === undefined) return
  throw new HeddleError('HDL_BAD_OPTION', { option: 'tagFormat', value: format, expected })
}

export function tagName(name: string, version: string, format: string): string {
  return format.replaceAll('{name}', () => name).replaceAll('{version}', () => version)
}

/** Folders in which Git keeps these tags: `a` and `a/b` for `a/b/c`. */
export function tagFolders(tags: Iterable<string>): ReadonlySet<string> {
  const folders = new Set<string>()
  for (const tag of tags) for (const folder of foldersOf(tag)) folders.add(folder)
  return folders
}

function foldersOf(tag: string): string[] {
  const parts = tag.split('/').slice(0, -1)
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'))
}

/** Tags of a repository, by name, and the folders that they are in. */
export interface ExistingTags {
  readonly tags: Pick<ReadonlyMap<string, unknown>, 'has'>
  readonly folders: ReadonlySet<string>
}

/**
 * Why Git would refuse to make a tag: its name, or another tag in the way. Git keeps tags like files, so that
 * `a/b` cannot be beside `a`. Undefined when nothing is in the way.
 */
export function tagObstacle(tag: string, { tags, folders }: ExistingTags): string | undefined {
  if (!isRefName(tag)) return 'this name has characters or endings that it refuses'
  const above = foldersOf(tag).find((folder) => tags.has(folder))
  if (above !== undefined) return `the tag ${above} is in the way of this one`
  return folders.has(tag) ? 'there are tags below this name' : undefined
}
