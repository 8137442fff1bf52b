/** `CHANGELOG.md` of a package, in the format that Changesets writes. */
import type { PlannedChange, PlannedPackage } from '../model.ts'

const headings = [
  ['major', 'Major Changes'],
  ['minor', 'Minor Changes'],
  ['patch', 'Patch Changes'],
] as const

/** The entry of one version, without what stands above and below it. */
export function changelogEntry(
  { version, changes = [] }: Pick<PlannedPackage, 'version' | 'changes'>,
  updated: readonly string[],
): string {
  const sections = headings.flatMap(([bump, heading]) => {
    const items = changes.filter((change) => change.bump === bump).map(itemOf)
    if (bump === 'patch' && updated.length > 0) {
      items.push(['- Updated dependencies', ...updated.map((each) => `  - ${each}`)].join('\n'))
    }
    return items.length === 0 ? [] : [`### ${heading}\n\n${items.join('\n')}\n`]
  })
  return [`## ${version}\n`, ...sections].join('\n')
}

/** Lines after the first one are indented, so that they stay part of the list. */
function itemOf({ text }: PlannedChange): string {
  const [first = '', ...rest] = text.split('\n')
  return [`- ${first}`, ...rest.map((line) => (line.trim() === '' ? '' : `  ${line}`))].join('\n')
}

/** The file with the entry above all others. `before` is undefined where there is no file yet. */
export function withEntry(name: string, before: string | undefined, entry: string): string {
  const text = before?.replaceAll('\r\n', '\n') ?? ''
  const [, title, rest] = /^(\s*# [^\n]*\n?)([^]*)$/.exec(text) ?? []
  const head = title === undefined ? `# ${name}\n` : `${title.trim()}\n`
  const older = (title === undefined ? text : rest!).trimStart()
  const joined = [head, entry, ...(older === '' ? [] : [older])].join('\n')
  return before?.includes('\r\n') === true ? joined.replaceAll('\n', '\r\n') : joined
}
