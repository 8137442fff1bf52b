/** `CHANGELOG.md` of a package, in the format that Changesets writes. */
import type { PlannedChange, PlannedPackage } from '../model.ts'

const headings = [
  ['major', 'Major Changes'],
  ['minor', 'Minor Changes'],
  ['patch', 'Patch Changes'],
] as const

/** Dependencies that are released with a package. */
export interface UpdatedDependencies {
  /** `name@version` */
  readonly versions: readonly string[]
  /** The changes that they are released for. */
  readonly changes: readonly PlannedChange[]
}

/** The commit that added each changeset, by its id. */
export type AddedIn = ReadonlyMap<string, string>

/** The entry of one version, without the text above and below it. */
export function changelogEntry(
  { version, changes = [] }: Pick<PlannedPackage, 'version' | 'changes'>,
  updated: UpdatedDependencies = { versions: [], changes: [] },
  addedIn: AddedIn = new Map(),
): string {
  const sections = headings.flatMap(([bump, heading]) => {
    const items = changes
      .filter((change) => change.bump === bump)
      .map((change) => itemOf(change, addedIn))
    if (bump === 'patch' && updated.versions.length > 0) {
      items.push(updatedItem(updated, addedIn))
    }
    return items.length === 0 ? [] : [`### ${heading}\n\n${items.join('\n')}\n`]
  })
  return [`## ${version}\n`, ...sections].join('\n')
}

function shortCommit({ changeset = '' }: PlannedChange, addedIn: AddedIn): string | undefined {
  return addedIn.get(changeset)?.slice(0, 7)
}

/** A line for each commit, then the new versions. */
function updatedItem({ versions, changes }: UpdatedDependencies, addedIn: AddedIn): string {
  const commits = new Set(changes.map((change) => shortCommit(change, addedIn)))
  commits.delete(undefined)
  const heads = commits.size === 0 ? [''] : Array.from(commits, (commit) => ` [${commit}]`)
  return [
    ...heads.map((commit) => `- Updated dependencies${commit}`),
    ...versions.map((each) => `  - ${each}`),
  ].join('\n')
}

/** Lines after the first one are indented, so that they stay part of the list. */
function itemOf(change: PlannedChange, addedIn: AddedIn): string {
  const [first = '', ...rest] = change.text.split('\n')
  const commit = shortCommit(change, addedIn)
  const head = commit === undefined ? first : `${commit}: ${first}`
  return [`- ${head}`, ...rest.map((line) => (line.trim() === '' ? '' : `  ${line}`))].join('\n')
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
