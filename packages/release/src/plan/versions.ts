/**
 * Which version comes next.
 *
 *   1.2.3        + patch        → 1.2.4        1.2.3        + minor as rc → 1.3.0-rc.0
 *   1.3.0-rc.0   + patch as rc  → 1.3.0-rc.1   0.6.0-rc.1   + minor as rc → 0.6.0-rc.2
 *   1.3.0-rc.1   + major as rc  → 2.0.0-rc.0   1.3.0-rc.1   + anything    → 1.3.0
 *
 * A prerelease already announces the release it leads to. Only a change that is bigger than that
 * release moves it, and then the counter starts again.
 *
 *  VN1  The next version is greater than the current one, or there is an error.
 *  VN2  A bigger change never gives a smaller version.
 */
import semver from 'semver'
import { HeddleError } from '@heddle/core'
import { pythonVersion } from '../manifest/requirement.ts'
import type { Ecosystem } from '../model.ts'
import { comparePythonVersions, parsePythonVersion } from '../workspace/python-version.ts'

export type Bump = 'none' | 'patch' | 'minor' | 'major'

const sizes: readonly Bump[] = ['none', 'patch', 'minor', 'major']

export function biggerBump(a: Bump, b: Bump): Bump {
  return sizes.indexOf(a) >= sizes.indexOf(b) ? a : b
}

/** Negative when `a` comes before `b`. Both are versions of their ecosystem. */
export function compareVersions(ecosystem: Ecosystem, a: string, b: string): number {
  if (ecosystem === 'npm') return semver.compare(a, b)
  return comparePythonVersions(parsePythonVersion(a)!, parsePythonVersion(b)!)
}

/** The name of the prerelease that a version is: `rc`, `next` where it has only a number. */
export function prereleaseName(ecosystem: Ecosystem, version: string): string | undefined {
  if (ecosystem === 'python') return parsePythonVersion(version)?.phase
  const first = semver.prerelease(version)?.[0]
  return typeof first === 'number' ? 'next' : first
}

/** Whether the second number announces a breaking change of this version. */
export function isInitialDevelopment(version: string): boolean {
  return /^(?:0!)?0(?!\d)/.test(version)
}

/** @throws `HDL_BAD_OPTION` when the prerelease would come before the current version. */
export function nextVersion(
  ecosystem: Ecosystem,
  current: string,
  bump: Bump,
  prerelease?: string,
): string {
  if (bump === 'none') return current
  const next =
    ecosystem === 'npm'
      ? semanticNext(current, bump, prerelease)
      : pythonNext(current, bump, prerelease)
  if (compareVersions(ecosystem, next, current) <= 0) {
    throw new HeddleError('HDL_BAD_OPTION', {
      option: 'prerelease',
      value: prerelease,
      expected: `a name that sorts after the one of ${current}: ${next} would come before it`,
    })
  }
  return next
}

function semanticNext(
  current: string,
  bump: Exclude<Bump, 'none'>,
  prerelease: string | undefined,
): string {
  const target = semver.inc(current, bump)!
  if (prerelease === undefined) return target
  const { version, prerelease: parts } = semver.parse(current)!
  const isLeadingThere = version.startsWith(`${target}-`) && parts[0] === prerelease
  const count = isLeadingThere && typeof parts[1] === 'number' ? parts[1] + 1 : 0
  return `${target}-${prerelease}.${count}`
}

/** Three numbers and the prerelease: other parts of a Python version are dropped, except its epoch. */
function pythonNext(
  current: string,
  bump: Exclude<Bump, 'none'>,
  prerelease: string | undefined,
): string {
  const { epoch, release, phase, count } = parsePythonVersion(current)!
  const [major = 0, minor = 0, patch = 0] = release
  const semantic = `${major}.${minor}.${patch}${phase === undefined ? '' : `-${phase}.${count}`}`
  const wanted = prerelease === undefined ? undefined : pythonPhase(prerelease)
  return `${epoch === 0 ? '' : `${epoch}!`}${pythonVersion(semanticNext(semantic, bump, wanted))}`
}

/** Python has three names for prereleases; a version may be written with others. */
function pythonPhase(prerelease: string): string {
  const [, phase] = /^1\.?(a|b|rc|dev)0$/.exec(pythonVersion(`1-${prerelease}.0`)) ?? []
  if (phase !== undefined) return phase
  throw new HeddleError('HDL_BAD_OPTION', {
    option: 'prerelease',
    value: prerelease,
    expected: 'alpha, beta, rc or dev, because the release has Python packages',
  })
}

/** The version of a package that was never released: the one in its manifest, as a prerelease if wanted. */
export function firstVersion(ecosystem: Ecosystem, written: string, prerelease?: string): string {
  if (prerelease === undefined || prereleaseName(ecosystem, written) !== undefined) return written
  return ecosystem === 'npm'
    ? `${written}-${prerelease}.0`
    : `${written}${pythonSuffix(prerelease)}`
}

/** `rc0`, `.dev0` */
function pythonSuffix(prerelease: string): string {
  const phase = pythonPhase(prerelease)
  return phase === 'dev' ? '.dev0' : `${phase}0`
}
