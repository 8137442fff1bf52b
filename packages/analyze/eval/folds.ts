/**
 * Folds of repositories: what a rule was developed on is not what it is judged on.
 *
 * Fold 0 has the repositories whose cases were read before folds existed. The other repositories are
 * sorted by a hash of a fixed seed and their name and dealt out to four folds, so that no choice of a
 * reader is in it. `reading.md` records which folds were read, and when.
 */
import { createHash } from 'node:crypto'
import type { Case } from './score.ts'

const seed = 'heddle-folds-1'
const count = 4

/** Cases of these folds have been read: they are developed on. The others are seen by their score only. */
export const readFolds: readonly number[] = [0, 1, 2, 3, 5, 6, 7, 9]

export function repositoryOf(one: Case): string {
  return one.repo ?? one.npm.slice(0, one.npm.lastIndexOf('@'))
}

/** The fold of each repository. */
export function dealFolds(cases: readonly Case[]): ReadonlyMap<string, number> {
  const folds = new Map<string, number>()
  for (const one of cases) if (one.split === 'dev') folds.set(repositoryOf(one), 0)
  const others = new Set(cases.map(repositoryOf).filter((name) => !folds.has(name)))
  const dealt = [...others]
    .map((name) => ({ name, hash: hashOf(name) }))
    .sort((a, b) => (a.hash < b.hash ? -1 : 1))
  for (const [index, { name }] of dealt.entries()) folds.set(name, (index % count) + 1)
  return folds
}

interface Dealt {
  readonly repo: string
  /** Of commits that were added later: dealt by a hash of the repository before any of them was opened. */
  readonly fold?: number
}

/** Folds 5 to 8, of the repositories whose cases are commits; cases that were added later name theirs. */
export function dealCommitFolds(cases: readonly Dealt[]): ReadonlyMap<string, number> {
  const folds = new Map<string, number>()
  for (const { repo, fold } of cases) if (fold !== undefined) folds.set(repo, fold)
  const names = [...new Set(cases.map(({ repo }) => repo))].filter((name) => !folds.has(name))
  const dealt = names
    .map((name) => ({ name, hash: hashOf(name, 'heddle-folds-2') }))
    .sort((a, b) => (a.hash < b.hash ? -1 : 1))
  for (const [index, { name }] of dealt.entries()) folds.set(name, (index % count) + 1 + count)
  return folds
}

function hashOf(name: string, salt = seed): string {
  return createHash('sha256').update(`${salt}:${name}`).digest('hex')
}
