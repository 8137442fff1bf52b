/** Ranges of Python requirements that follow a package of the same workspace to its next version. */
import { parsePythonVersion, satisfiesPython } from '../workspace/python-version.ts'

/**
 * The range of a requirement of a package of the same workspace, whose version goes from `current` to
 * `planned`.
 *
 * - It allows the planned version, or is not a range of versions: as written.
 * - It allows the current version only: the same kind of range for the planned one. Undefined for ranges of which
 *   only their author can say whether they hold for the new version.
 * - It allows neither of the two: as written; it means an older version on the index.
 */
export function movedRequirement(
  range: string,
  current: string,
  planned: string,
): string | undefined {
  if (satisfiesPython(planned, range) !== false) return range
  if (satisfiesPython(current, range) !== true) return range
  const moved = movedClauses(range, planned)
  return moved !== undefined && satisfiesPython(planned, moved) === true ? moved : undefined
}

const clause = /(?<operator>===|==|~=|>=|<=|!=|<|>)(?<space>\s*)(?<bound>[^\s,()]+)/g

function movedClauses(range: string, planned: string): string | undefined {
  const found = [...range.matchAll(clause)].map(({ groups }) => groups!)
  const [first, second] = found
  if (found.length === 1) {
    const bound = movedBound(first!['operator']!, first!['bound']!, planned)
    return bound === undefined ? undefined : replaceBounds(range, [bound])
  }
  if (found.length !== 2) return undefined
  const isLowerFirst = first!['operator'] === '>='
  const [lower, upper] = isLowerFirst ? [first!, second!] : [second!, first!]
  if (lower['operator'] !== '>=' || upper['operator'] !== '<') return undefined
  const limit = movedLimit(lower['bound']!, upper['bound']!, planned)
  if (limit === undefined) return undefined
  return replaceBounds(range, isLowerFirst ? [planned, limit] : [limit, planned])
}

function replaceBounds(range: string, bounds: readonly string[]): string {
  let index = 0
  return range.replace(
    clause,
    (_, operator: string, space: string) => `${operator}${space}${bounds[index++]}`,
  )
}

/** `==1.0.0` → `==2.0.0`, `==1.*` → `==2.*`, `~=1.4` → `~=2.0` */
function movedBound(operator: string, bound: string, planned: string): string | undefined {
  const release = parsePythonVersion(planned)?.release
  if (release === undefined) return undefined
  const part = (index: number): number => release[index] ?? 0
  if (operator === '==' && bound.endsWith('.*')) {
    const count = bound.split('.').length - 1
    return `${Array.from({ length: count }, (_, index) => part(index)).join('.')}.*`
  }
  if (operator === '==' || operator === '===') return planned
  if (operator !== '~=') return undefined
  const count = parsePythonVersion(bound)?.release.length ?? 0
  return Array.from({ length: count }, (_, index) => part(index)).join('.')
}

/** `<2` beside `>=1.4` is the next major version: beside `>=2.1` it is `<3`. */
function movedLimit(lower: string, upper: string, planned: string): string | undefined {
  const [low, limit, next] = [lower, upper, planned].map(
    (text) => parsePythonVersion(text)?.release,
  )
  if (low === undefined || limit === undefined || next === undefined) return undefined
  const raised = limit.findIndex((part, index) => part !== (low[index] ?? 0))
  const isNext =
    raised >= 0 &&
    limit[raised] === (low[raised] ?? 0) + 1 &&
    limit.slice(raised + 1).every((part) => part === 0)
  if (!isNext) return undefined
  return limit
    .map((_, index) => {
      const part = next[index] ?? 0
      return index < raised ? part : index === raised ? part + 1 : 0
    })
    .join('.')
}
