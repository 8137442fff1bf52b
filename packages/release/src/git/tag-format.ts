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

/** What a format should be instead; undefined for one that is right. */
export function tagFormatProblem(format: string): string | undefined {
  const hasVersion = format.split('{version}').length === 2
  if (!hasVersion) return 'a text with {version}, such as "{name}@{version}"'
  const isRef = !badRef.test(tagName('name', '1.0.0', format))
  return isRef ? undefined : 'a name that Git accepts: no spaces, no "..", none of ~ ^ : ? * [ \\'
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
