import picomatch from 'picomatch'
import { HeddleError } from '@heddle/core'
import { suggest } from '@heddle/core/lowlevel'
import type { WorkspacePackage } from '../model.ts'
import { neededDependencies } from './release-order.ts'

export interface SelectionOptions {
  /** Patterns of names. Only packages that match, and their dependencies. Everything when absent. */
  readonly include?: readonly string[]
  /** Patterns of names. Left out, also when something else needs it. */
  readonly exclude?: readonly string[]
}

/** Why a package that could be released is not. */
export type Exclusion = 'not included' | 'excluded'

/**
 * Those of the candidates that are not to be released after all, and why.
 *
 * @throws `HDL_BAD_OPTION` for a pattern that matches no package: a misprint must not release
 * other packages.
 */
export function exclusions(
  packages: ReadonlyMap<string, WorkspacePackage>,
  candidates: ReadonlySet<string>,
  { include, exclude = [] }: SelectionOptions,
): Map<string, Exclusion> {
  const left = new Map<string, Exclusion>()
  if (include !== undefined) {
    const wanted = withNeeded(packages, candidates, matching('include', include, packages))
    for (const name of candidates) if (!wanted.has(name)) left.set(name, 'not included')
  }
  for (const name of matching('exclude', exclude, packages))
    if (candidates.has(name)) left.set(name, 'excluded')
  return left
}

/** @throws `HDL_BAD_OPTION` for a pattern that matches no package. */
export function matching(
  option: string,
  patterns: readonly string[],
  packages: ReadonlyMap<string, unknown>,
  of = 'the workspace',
): Set<string> {
  const found = new Set<string>()
  for (const pattern of patterns) {
    const matches = picomatch(pattern)
    const names = [...packages.keys()].filter((name) => name === pattern || matches(name))
    if (names.length === 0) {
      const similar = suggest(pattern, packages.keys())
      const hint = similar === undefined ? '' : `, such as "${similar}"`
      throw new HeddleError('HDL_BAD_OPTION', {
        option,
        value: pattern,
        expected: `a pattern that matches a package of ${of}${hint}`,
      })
    }
    for (const name of names) found.add(name)
  }
  return found
}

/** With everything among the candidates that they need, directly or not. */
function withNeeded(
  packages: ReadonlyMap<string, WorkspacePackage>,
  candidates: ReadonlySet<string>,
  start: ReadonlySet<string>,
): Set<string> {
  const wanted = new Set(start)
  // A set also yields items that are added during the walk.
  for (const name of wanted) {
    for (const dependency of neededDependencies(packages.get(name)!)) {
      if (candidates.has(dependency.name)) wanted.add(dependency.name)
    }
  }
  return wanted
}
