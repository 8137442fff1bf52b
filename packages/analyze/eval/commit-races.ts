/** How many of the races that commits repaired are found, by fold. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { analyze } from '../src/index.ts'
import type { Analysis } from '../src/index.ts'
import { fetchCommit, isAtHand } from './commits.ts'
import { dealCommitFolds, readFolds } from './folds.ts'
import { replaceNames } from './noise.ts'
import { scoreCommit } from './score.ts'
import type { CommitCase, CommitOutcome } from './score.ts'
import { sourcesOf } from './sources.ts'

export interface CommitOptions {
  readonly noise: boolean
  readonly types: boolean
  readonly folds?: readonly number[] | undefined
  /** Part of the id of cases; only those of read folds are shown. */
  readonly only?: string | undefined
  readonly say: (text: string) => void
}

interface CommitScore {
  cases: number
  hits: number
  hitsSilentWhenFixed: number
  noted: number
  /** Of the hits whose case has a class. */
  rightClass: readonly [right: number, judged: number]
  repositories: number
}

type Named = Analysis & { rename(name: string): string }

async function analyzeCommit(
  one: CommitCase,
  commit: string,
  options: CommitOptions,
): Promise<Named> {
  const root = await fetchCommit(one.repo, commit, one.folder ?? '')
  const wanted = [...new Set(one.places.map(({ file }) => path.join(root, file)))]
  const files = [...new Set([...sourcesOf(root, one.places[0]!.file), ...wanted])]
  const noise = options.noise
    ? replaceNames(new Map(files.map((file) => [file, readFileSync(file, 'utf8')])))
    : undefined
  const analysis = await analyze({
    root,
    files,
    wanted,
    types: options.types ? 'auto' : 'none',
    ...(noise !== undefined && { overlays: noise.texts }),
  })
  return { ...analysis, rename: (name) => noise?.rename(name) ?? name }
}

function tally(outcomes: readonly CommitOutcome[]): CommitScore {
  const judged = outcomes.filter((one) => one.isSilentWhenFixed && one.class !== undefined)
  return {
    cases: outcomes.length,
    hits: outcomes.filter((one) => one.hit).length,
    hitsSilentWhenFixed: outcomes.filter((one) => one.isSilentWhenFixed).length,
    noted: outcomes.filter((one) => !one.hit && one.notes.length > 0).length,
    rightClass: [judged.filter((one) => one.hitClasses.includes(one.class!)).length, judged.length],
    repositories: new Set(outcomes.map(({ id }) => id.slice(0, id.indexOf('@')))).size,
  }
}

export async function commitRaces(options: CommitOptions) {
  const { cases } = JSON.parse(
    readFileSync(new URL('commit-cases.json', import.meta.url), 'utf8'),
  ) as { cases: CommitCase[] }
  const folds = dealCommitFolds(cases)
  const byFold = new Map<number, CommitOutcome[]>()
  for (const one of cases) {
    const fold = folds.get(one.repo)!
    const isRead = readFolds.includes(fold)
    if (options.folds?.includes(fold) === false) continue
    if (options.only !== undefined && !(isRead && one.id.includes(options.only))) continue
    if (one.doubtful === true && options.only === undefined) continue
    if (!isAtHand(one.repo)) continue
    const bad = await analyzeCommit(one, one.before, options)
    const fixed = await analyzeCommit(one, one.after, options)
    const outcome = scoreCommit(one, bad.findings, fixed.findings, (name) => bad.rename(name))
    byFold.set(fold, [...(byFold.get(fold) ?? []), outcome])
    if (!isRead) continue
    const verdict = outcome.isSilentWhenFixed
      ? 'hit'
      : outcome.hit
        ? 'hit, also when fixed'
        : 'missed'
    const detail = [
      ...outcome.findings,
      ...outcome.left.map((text) => `left: ${text}`),
      ...outcome.notes.map((text) => `noted: ${text}`),
      ...outcome.elsewhere.map((text) => `elsewhere: ${text}`),
    ]
    options.say(`${fold} ${verdict.padEnd(20)} ${one.id.padEnd(50)} ${detail.join(', ')}`)
  }
  const numbers = [...byFold.keys()].sort((a, b) => a - b)
  const of = (wanted: readonly number[]): CommitOutcome[] =>
    wanted.flatMap((fold) => byFold.get(fold) ?? [])
  return {
    byFold: Object.fromEntries(numbers.map((fold) => [fold, tally(of([fold]))])),
    read: tally(of(numbers.filter((fold) => readFolds.includes(fold)))),
    unread: tally(of(numbers.filter((fold) => !readFolds.includes(fold)))),
  }
}
