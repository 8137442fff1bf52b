/** `.changeset/config.json`: the part of it that decides on versions. */
import path from 'node:path'
import picomatch from 'picomatch'
import { isFields } from '../../manifest/local-range.ts'
import type { Workspace } from '../../model.ts'
import { readDocument, type Document } from '../../workspace/documents.ts'
import type { Problems } from '../../workspace/workspace-problems.ts'

export interface ChangesetsConfig {
  /** Groups that always have the same version and are released together. */
  readonly fixed: readonly (readonly string[])[]
  /** Groups whose released members get the same version. */
  readonly linked: readonly (readonly string[])[]
  readonly ignore: ReadonlySet<string>
  /** Whether dependents are released each time, or only when their range no longer fits. */
  readonly updateInternalDependents: 'always' | 'out-of-range'
  /** Whether private packages get versions. */
  readonly versionsPrivate: boolean
  /** The effect of a minor or major release on packages that have the package as a peer. */
  readonly peers: 'major' | 'major-when-out-of-range' | 'patch-when-out-of-range'
  /** The smallest release that a range which allows it follows. */
  readonly leastRangeBump: 'patch' | 'minor'
  /** Whether a range of a peer that allows the new version stays as written. */
  readonly keepsPeers: boolean
  /** Whether ranges without `workspace:` are left alone. */
  readonly workspaceProtocolOnly: boolean
  readonly access: 'public' | 'restricted' | undefined
  /** Whether packages get a CHANGELOG.md. */
  readonly changelog: boolean
  /** What writes changelogs instead of Changesets itself. */
  readonly changelogFormat?: string | undefined
  /** Where changesets of a prerelease wait for the release: a folder (version 3), or a list in pre.json. */
  readonly usedIn: 'folder' | 'list'
}

/**
 * Version 3 no longer makes a peer's release a major one, and leaves private packages alone.
 * The schema that a config names says which version wrote it: 4 belongs to Changesets 3.
 */
function isVersion2(config: Document): boolean {
  const [, major] = /@changesets\/config@(\d+)/.exec(String(config.fields['$schema'])) ?? []
  return major !== undefined && Number(major) < 4
}

/** *Cancellation*: none; one small file is read. */
export async function readConfig(
  workspace: Workspace,
  problems: Problems,
): Promise<ChangesetsConfig> {
  const file = path.join(workspace.root, '.changeset', 'config.json')
  const config = (await readDocument(file, problems)) ?? {
    file,
    fields: {},
    lineOf: () => undefined,
  }
  const { access, privatePackages } = config.fields
  const isOld = isVersion2(config)
  const unsafe = config.fields['___experimentalUnsafeOptions_WILL_CHANGE_IN_PATCH']
  const experimental = isFields(unsafe) ? unsafe : {}
  const keepsPeers = experimental['onlyUpdatePeerDependentsWhenOutOfRange'] === true
  const fixed = groups('fixed', config, workspace, problems)
  const linked = groups('linked', config, workspace, problems)
  refuseOverlaps([...fixed, ...linked], config, problems)
  return {
    fixed,
    linked,
    ignore: new Set(names('ignore', config.fields['ignore'], config, workspace, problems)),
    updateInternalDependents:
      experimental['updateInternalDependents'] === 'always' ? 'always' : 'out-of-range',
    versionsPrivate: isFields(privatePackages)
      ? Boolean(privatePackages['version'] ?? isOld)
      : Boolean(privatePackages ?? isOld),
    peers: peerRule(isOld, keepsPeers),
    leastRangeBump: config.fields['updateInternalDependencies'] === 'minor' ? 'minor' : 'patch',
    keepsPeers,
    workspaceProtocolOnly: config.fields['bumpVersionsWithWorkspaceProtocolOnly'] === true,
    access: access === 'public' || access === 'restricted' ? access : undefined,
    changelog: config.fields['changelog'] !== false,
    changelogFormat: changelogFormat(config.fields['changelog']),
    usedIn: isOld ? 'list' : 'folder',
  }
}

/** Both write the format of Changesets itself. */
const ownFormats = new Set(['@changesets/cli/changelog', '@changesets/changelog-git'])

function changelogFormat(setting: unknown): string | undefined {
  const named: unknown = Array.isArray(setting) ? setting[0] : setting
  return typeof named === 'string' && !ownFormats.has(named) ? named : undefined
}

function peerRule(isOld: boolean, isOnlyOutOfRange: boolean): ChangesetsConfig['peers'] {
  if (!isOld) return 'patch-when-out-of-range'
  return isOnlyOutOfRange ? 'major-when-out-of-range' : 'major'
}

function groups(
  key: 'fixed' | 'linked',
  config: Document,
  workspace: Workspace,
  problems: Problems,
): string[][] {
  const listed = config.fields[key] ?? []
  if (Array.isArray(listed))
    return listed.map((group) => names(key, group, config, workspace, problems))
  problems.add({
    file: config.file,
    line: config.lineOf(key),
    problem: `\`${key}\` is not a list`,
    todo: 'Write a list of lists of names.',
  })
  return []
}

/** Names and patterns of names, as names. */
function names(
  key: string,
  listed: unknown,
  config: Document,
  workspace: Workspace,
  problems: Problems,
): string[] {
  const refuse = (problem: string, todo: string): void => {
    problems.add({ file: config.file, line: config.lineOf(key), problem, todo })
  }
  if (listed === undefined) return []
  if (!Array.isArray(listed) || !listed.every((pattern) => typeof pattern === 'string')) {
    refuse(`\`${key}\` is not a list of names`, 'Write the names of packages in quotes.')
    return []
  }
  const all = [...workspace.packages.keys()]
  for (const pattern of listed) {
    const matches = picomatch(pattern)
    if (!all.some((name) => matches(name)))
      refuse(`"${pattern}" in \`${key}\` matches no package`, 'Correct the name or take it out.')
  }
  if (listed.length === 0) return []
  const matches = picomatch(listed)
  return all.filter((name) => matches(name))
}

function refuseOverlaps(
  all: readonly (readonly string[])[],
  config: Document,
  problems: Problems,
): void {
  const seen = new Set<string>()
  for (const name of all.flat()) {
    if (seen.has(name)) {
      problems.add({
        file: config.file,
        problem: `"${name}" is in several groups of \`fixed\` and \`linked\``,
        todo: 'Leave it in one of them: it cannot have two versions.',
      })
    }
    seen.add(name)
  }
}
