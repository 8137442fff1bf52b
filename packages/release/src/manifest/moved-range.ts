import semver from 'semver'

const simple = /^(?<operator>[\^~]|>=|=|)\s*v?(?<version>\d+(?:\.\d+){2}\S*)$/
const partial = /^(?<operator>[\^~]|)\s*v?(?<major>\d+)(?:\.(?<minor>\d+|[x*]))?(?:\.[x*])?$/i

function isSimple(range: string): boolean {
  return simple.test(range) || partial.test(range)
}

/**
 * The same kind of range for another version: `^1.2.3` → `^2.0.0`, `1.x` → `2.x`. Undefined for ranges
 * with several parts.
 */
export function likewise(range: string, version: string): string | undefined {
  if (!isSimple(range)) return undefined
  const whole = simple.exec(range)?.groups
  if (whole !== undefined) return `${whole['operator']}${version}`
  const parts = partial.exec(range)!.groups!
  // `2.x` does not allow `2.0.0-rc.1`.
  if (semver.prerelease(version) !== null) return `^${version}`
  const hasMinor = /^\d+$/.test(parts['minor'] ?? '')
  const { major, minor } = semver.parse(version)!
  return `${parts['operator']}${major}.${hasMinor ? `${minor}.x` : 'x'}`
}

/**
 * The range of a dependency on a package of the same workspace, whose version goes from `current`
 * to `planned`.
 *
 * - It allows the planned version: as written.
 * - It allows the current version only: the same kind of range for the planned one, because the
 * dependent was developed with it. Undefined for ranges with several parts: whether they
 *   hold for the new version only their author can say.
 * - It allows neither of the two: as written; it means an older version on the registry.
 */
export function movedRange(range: string, current: string, planned: string): string | undefined {
  const allowed = semver.validRange(range)
  // Tags such as `next`, addresses, repositories.
  if (allowed === null || semver.satisfies(planned, allowed)) return range
  if (!semver.satisfies(current, allowed)) return range
  return likewise(range.trim(), planned)
}
