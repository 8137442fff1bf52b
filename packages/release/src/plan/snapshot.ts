/**
 * A release that is not kept: versions that belong to one commit, for trying it out.
 *
 *   snapshot  0.0.0-pr-12-20261117060106-1a2b3c4          never the newest version of anything
 *   canary    1.3.1-canary.20261117060106.g1a2b3c4        newer than 1.3.0, older than 1.3.1
 *             2.0.0-rc.1.canary.20261117060106.g1a2b3c4   newer than 2.0.0-rc.1, older than 2.0.0-rc.2
 *
 *  S1  The same commit gives the same versions: a snapshot that was cut short is finished by the same
 *      command.
 *  S2  Packages of one snapshot need each other in exactly these versions.
 *  S3  Nothing of the repository changes: changesets stay, no manifest, no Git tag.
 */
import semver from 'semver'
import { HeddleError } from '@heddle/core'
import type { PlannedPackage, ReleasePlan } from '../model.ts'
import { parsePythonVersion } from '../workspace/python-version.ts'

export interface SnapshotOptions {
  readonly kind: 'snapshot' | 'canary'
  /** The dist-tag, and a part of the version. Default: the kind. */
  readonly name?: string
  /** The dist-tag, where it is another one. */
  readonly distTag?: string
  readonly commit: string
  /** Milliseconds since 1970. */
  readonly committedAt: number
}

/** @throws `HDL_BAD_OPTION` for a name that no version can have, and for a dist-tag that users install by default. */
export function planSnapshot(plan: ReleasePlan, options: SnapshotOptions): ReleasePlan {
  const { kind, name = kind } = options
  const isName = /^[a-z][0-9a-z-]*$/i.test(name) && semver.validRange(name) === null
  if (!isName || name === 'latest') {
    const expected =
      'a name of letters, digits and dashes that is not "latest" and does not read as a range of versions, such as "pr-12"'
    throw new HeddleError('HDL_BAD_OPTION', { option: kind, value: name, expected })
  }
  const { distTag = name } = options
  if (distTag === 'latest') {
    const expected = 'another dist-tag than "latest", which everyone installs'
    throw new HeddleError('HDL_BAD_OPTION', { option: 'dist-tag', value: distTag, expected })
  }
  const packages = new Map<string, PlannedPackage>()
  for (const [key, planned] of plan.packages) {
    const isIncluded = planned.status === 'included'
    packages.set(
      key,
      isIncluded
        ? { ...planned, version: versionOf(planned, { ...options, name }), distTag }
        : planned,
    )
  }
  return { ...plan, packages, isSnapshot: true }
}

function versionOf(
  { package: each, version }: PlannedPackage,
  { kind, name, commit, committedAt }: SnapshotOptions & { readonly name: string },
): string {
  const time = new Date(committedAt).toISOString().replaceAll(/\D/g, '').slice(0, 14)
  const short = commit.slice(0, 7)
  if (each.ecosystem === 'python') {
    // A version of Python cannot name a commit, other than in a part that PyPI refuses.
    const { release } = parsePythonVersion(version)!
    return `${kind === 'snapshot' ? '0.0.0' : release.join('.')}.dev${time}`
  }
  if (kind === 'snapshot') return `0.0.0-${name}-${time}-${short}`
  // Between the prerelease that the manifest has and the next one.
  if (semver.prerelease(each.version) !== null) {
    return `${each.version.replace(/\+.*/, '')}.${name}.${time}.g${short}`
  }
  // A version that the manifest has already is released, or will be.
  const next = version === each.version ? semver.inc(version, 'patch')! : version
  const { major, minor, patch } = semver.parse(next)!
  return `${major}.${minor}.${patch}-${name}.${time}.g${short}`
}
