/**
 * The `exports` and `imports` of a package, as Node resolves them: the first key that is a condition
 * we have wins, at every level; `*` stands for any text; `null` forbids.
 */
import { asObject } from './read-json.ts'

/** Targets (`./dist/index.js`) in the order in which they should be tried. */
export function exportTargets(
  exports: unknown,
  subpath: string,
  conditions: ReadonlySet<string>,
): readonly string[] {
  const map = asObject(exports)
  const isMap = map !== undefined && Object.keys(map).some((key) => key.startsWith('.'))
  if (!isMap) return subpath === '.' ? targetsOf(exports, conditions, '') : []
  return subpathTargets(map, subpath, conditions)
}

/** For `imports`, whose keys start with `#`. */
export function subpathTargets(
  map: Readonly<Record<string, unknown>>,
  subpath: string,
  conditions: ReadonlySet<string>,
): readonly string[] {
  if (Object.hasOwn(map, subpath) && !subpath.includes('*')) {
    return targetsOf(map[subpath], conditions, '')
  }
  let best: { readonly key: string; readonly star: string } | undefined
  for (const key of Object.keys(map)) {
    const star = matchStar(key, subpath)
    if (star === undefined) continue
    if (best === undefined || key.indexOf('*') > best.key.indexOf('*')) best = { key, star }
  }
  return best === undefined ? [] : targetsOf(map[best.key], conditions, best.star)
}

/** What `*` stands for when a pattern with one `*` fits a text. */
export function matchStar(pattern: string, text: string): string | undefined {
  const at = pattern.indexOf('*')
  if (at === -1) return undefined
  const before = pattern.slice(0, at)
  const after = pattern.slice(at + 1)
  const fits =
    text.length >= before.length + after.length && text.startsWith(before) && text.endsWith(after)
  return fits ? text.slice(before.length, text.length - after.length) : undefined
}

function targetsOf(
  target: unknown,
  conditions: ReadonlySet<string>,
  star: string,
): readonly string[] {
  if (typeof target === 'string') return [target.replaceAll('*', star)]
  if (Array.isArray(target)) return target.flatMap((item) => targetsOf(item, conditions, star))
  const branches = asObject(target)
  if (branches === undefined) return []
  for (const [condition, branch] of Object.entries(branches)) {
    if (condition !== 'default' && !conditions.has(condition)) continue
    const found = targetsOf(branch, conditions, star)
    if (found.length > 0) return found
  }
  return []
}
