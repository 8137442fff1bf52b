/** Versions of Python packages (PEP 440): `1!2.3.4rc1.post2.dev3+local`. */

export type PythonPhase = 'dev' | 'a' | 'b' | 'rc'

export interface PythonVersion {
  readonly epoch: number
  readonly release: readonly number[]
  /** `undefined` for a final release; `dev` for one that is nothing but a development release. */
  readonly phase: PythonPhase | undefined
  readonly count: number
  readonly post: number | undefined
  readonly dev: number | undefined
}

const shape =
  /^\s*v?(?:(?<epoch>\d+)!)?(?<release>\d+(?:\.\d+)*)(?:[-_.]?(?<word>alpha|beta|preview|pre|rc|a|b|c)[-_.]?(?<count>\d*))?(?:-(?<implicit>\d+)|[-_.]?(?<postword>post|rev|r)[-_.]?(?<post>\d*))?(?:[-_.]?(?<devword>dev)[-_.]?(?<dev>\d*))?(?:\+[a-z0-9]+(?:[-_.][a-z0-9]+)*)?\s*$/i

const phases: Readonly<Record<string, PythonPhase>> = {
  a: 'a',
  alpha: 'a',
  b: 'b',
  beta: 'b',
  c: 'rc',
  rc: 'rc',
  pre: 'rc',
  preview: 'rc',
}

/** Undefined for a text that is not a version. */
export function parsePythonVersion(text: string): PythonVersion | undefined {
  const parts = shape.exec(text)?.groups
  if (parts === undefined) return undefined
  const dev = parts['devword'] === undefined ? undefined : Number(parts['dev'])
  const isPost = parts['postword'] !== undefined || parts['implicit'] !== undefined
  const phase = phases[parts['word']?.toLowerCase() ?? '']
  const isOnlyDev = dev !== undefined && phase === undefined && !isPost
  return {
    epoch: Number(parts['epoch'] ?? 0),
    release: parts['release']!.split('.').map(Number),
    phase: isOnlyDev ? 'dev' : phase,
    count: isOnlyDev ? dev : Number(parts['count'] ?? 0),
    post: isPost ? Number(parts['post'] ?? parts['implicit']) : undefined,
    dev: isOnlyDev ? undefined : dev,
  }
}

const phaseOrder: readonly (PythonPhase | undefined)[] = ['dev', 'a', 'b', 'rc', undefined]

/** Negative when `a` comes before `b`. */
export function comparePythonVersions(a: PythonVersion, b: PythonVersion): number {
  const length = Math.max(a.release.length, b.release.length)
  const pairs: [number, number][] = [[a.epoch, b.epoch]]
  for (let i = 0; i < length; i++) pairs.push([a.release[i] ?? 0, b.release[i] ?? 0])
  pairs.push(
    [phaseOrder.indexOf(a.phase), phaseOrder.indexOf(b.phase)],
    [a.count, b.count],
    [a.post ?? -1, b.post ?? -1],
    [a.dev ?? Infinity, b.dev ?? Infinity],
  )
  for (const [left, right] of pairs) if (left !== right) return left - right
  return 0
}

/** Whether a version is in a range such as `>=1.2, <2, !=1.5.*`. Undefined for a text that is not a range. */
export function satisfiesPython(version: string, range: string): boolean | undefined {
  const found = parsePythonVersion(version)
  if (found === undefined) return undefined
  const clauses = range
    .replace(/^\((.*)\)$/, '$1')
    .split(',')
    .map((text) => text.trim())
    .filter((text) => text !== '')
  let isAllowed = true
  for (const clause of clauses) {
    const [, operator, bound] = /^(===|==|!=|<=|>=|~=|<|>)\s*(.+)$/.exec(clause) ?? []
    const holds =
      operator === undefined ? undefined : holdsFor(version, found, operator, bound!.trim())
    if (holds === undefined) return undefined
    isAllowed &&= holds
  }
  return isAllowed
}

function holdsFor(
  text: string,
  version: PythonVersion,
  operator: string,
  bound: string,
): boolean | undefined {
  if (operator === '===') return text === bound
  const isPrefix = bound.endsWith('.*') && (operator === '==' || operator === '!=')
  const limit = parsePythonVersion(isPrefix ? bound.slice(0, -2) : bound)
  if (limit === undefined) return undefined
  const startsWith = (length: number): boolean =>
    version.epoch === limit.epoch &&
    limit.release.slice(0, length).every((number, i) => (version.release[i] ?? 0) === number)
  if (isPrefix) return startsWith(limit.release.length) === (operator === '==')
  const order = comparePythonVersions(version, limit)
  const isSameRelease = comparePythonVersions(final(version), final(limit)) === 0
  switch (operator) {
    case '==':
      return order === 0
    case '!=':
      return order !== 0
    case '<=':
      return order <= 0
    case '>=':
      return order >= 0
    case '~=':
      return limit.release.length < 2
        ? undefined
        : order >= 0 && startsWith(limit.release.length - 1)
    case '<':
      // `<2` does not mean 2.0rc1, unless it says so.
      return (
        order < 0 && !(isSameRelease && version.phase !== undefined && limit.phase === undefined)
      )
    default:
      // `>2` does not mean 2.0.post1.
      return order > 0 && !(isSameRelease && version.post !== undefined && limit.post === undefined)
  }
}

const final = (version: PythonVersion): PythonVersion => ({
  ...version,
  phase: undefined,
  count: 0,
  post: undefined,
  dev: undefined,
})
