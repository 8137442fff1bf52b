/**
 * How good the analyzer is, on real defects and on well-reviewed code.
 *
 *     npm run -s eval:analyze -- [--json] [--only races|commits|clean] [--fold 0,1] [--case id]
 *                                [--noise] [--types] [--funnel] [--list] [--packages file.json]
 *
 * Packages are fetched from the registry and kept in the temporary folder. The cases of folds that have
 * not been read are scored, never shown (see folds.ts and reading.md). `--noise` replaces all names of
 * the programs, `--types` asks the compiler. `--funnel` says where each case is lost (see funnel.ts), and of
 * unread folds only how many are lost where. `--list` prints every finding in the packages of a list, to
 * be judged by hand (see judgements.md). `--only commits` asks about races that commits repaired: it takes
 * their repositories from `HEDDLE_EVAL_REPOSITORIES` or from GitHub (see commits.ts).
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { analyze } from '../src/index.ts'
import type { Analysis } from '../src/index.ts'
import { commitRaces } from './commit-races.ts'
import { fetchPackage } from './fetch.ts'
import { dealFolds, readFolds, repositoryOf } from './folds.ts'
import { lossOf, meanings, modelOf, stages } from './funnel.ts'
import type { Stage } from './funnel.ts'
import { replaceNames } from './noise.ts'
import { score } from './score.ts'
import type { Case, Outcome } from './score.ts'
import { sourcesOf } from './sources.ts'

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    only: { type: 'string' },
    fold: { type: 'string' },
    case: { type: 'string' },
    noise: { type: 'boolean', default: false },
    types: { type: 'boolean', default: false },
    funnel: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    packages: { type: 'string' },
  },
})

function readData(name: string | URL): unknown {
  return JSON.parse(readFileSync(name, 'utf8'))
}

const say = (text: string): void => {
  if (!values.json) process.stdout.write(`${text}\n`)
}

interface Analysed extends Analysis {
  rename(name: string): string
}

const kept = new Map<string, Promise<Analysed>>()

/** Several cases are about one version of one package. */
function analyzeOnce(spec: string, near: string, isNoisy: boolean): Promise<Analysed> {
  const key = `${spec} ${path.dirname(near)}`
  let known = kept.get(key)
  if (known === undefined) kept.set(key, (known = analyzePackage(spec, isNoisy, near)))
  return known
}

async function analyzePackage(spec: string, isNoisy: boolean, near?: string): Promise<Analysed> {
  const root = await fetchPackage(spec)
  const files = sourcesOf(root, near)
  const noise = isNoisy
    ? replaceNames(new Map(files.map((file) => [file, readFileSync(file, 'utf8')])))
    : undefined
  const analysis = await analyze({
    root,
    files,
    types: values.types ? 'auto' : 'none',
    keepsProgram: values.funnel,
    ...(noise !== undefined && { overlays: noise.texts }),
  })
  return { ...analysis, rename: (name) => noise?.rename(name) ?? name }
}

interface FoldScore {
  cases: number
  hits: number
  hitsSilentWhenFixed: number
  rightClass: number
  noted: number
  byClass: Record<string, { cases: number; hits: number; silent: number }>
}

function tally(outcomes: readonly Outcome[]): FoldScore {
  const byClass: FoldScore['byClass'] = {}
  for (const one of outcomes) {
    const row = (byClass[one.class] ??= { cases: 0, hits: 0, silent: 0 })
    row.cases++
    if (one.hit) row.hits++
    if (one.isSilentWhenFixed) row.silent++
  }
  return {
    cases: outcomes.length,
    hits: outcomes.filter((one) => one.hit).length,
    hitsSilentWhenFixed: outcomes.filter((one) => one.isSilentWhenFixed).length,
    rightClass: outcomes.filter((one) => one.hit && one.isRightClass).length,
    noted: outcomes.filter((one) => one.isNoted).length,
    byClass,
  }
}

async function races() {
  const { cases } = readData(new URL('cases.json', import.meta.url)) as { cases: Case[] }
  const folds = dealFolds(cases)
  const wanted = values.fold?.split(',').map(Number)
  const byFold = new Map<number, Outcome[]>()
  const losses: { readonly isRead: boolean; readonly stage: Stage }[] = []
  const scored = cases
    .map((one) => ({ one, fold: folds.get(repositoryOf(one))! }))
    .filter(({ one, fold }) => {
      if (values.case !== undefined) return one.id.includes(values.case) && readFolds.includes(fold)
      return one.doubtful !== true && (wanted === undefined || wanted.includes(fold))
    })
    .sort((a, b) => a.fold - b.fold || (a.one.npm < b.one.npm ? -1 : 1))
  let package_ = ''
  for (const { one, fold } of scored) {
    // Results of one version are kept while its cases last.
    if (one.npm !== package_) kept.clear()
    package_ = one.npm
    const bad = await analyzeOnce(one.npm, one.file, values.noise)
    const rename = (name: string): string => bad.rename(name)
    let outcome = score(one, bad.findings, [], rename)
    // The fixed version says something about hits only.
    if (outcome.hit) {
      const fixed = await analyzeOnce(one.fixed, one.file, values.noise)
      outcome = score(one, bad.findings, fixed.findings, rename)
    }
    const list = byFold.get(fold)
    if (list === undefined) byFold.set(fold, [outcome])
    else list.push(outcome)
    const isRead = readFolds.includes(fold)
    const loss =
      values.funnel && one.class !== 'blocking'
        ? lossOf(one, outcome, () => modelOf(bad.program!))
        : undefined
    if (loss !== undefined) losses.push({ isRead, stage: loss.stage })
    if (!isRead) continue
    if (loss !== undefined) {
      say(`${fold} ${loss.stage.padEnd(16)} ${one.id.padEnd(36)} ${loss.detail}`)
      continue
    }
    const verdict = outcome.hit
      ? outcome.isSilentWhenFixed
        ? 'hit'
        : 'hit, also when fixed'
      : 'missed'
    const detail = outcome.hit
      ? [...outcome.findings, ...outcome.left.map((text) => `left: ${text}`)]
      : outcome.inFunction
    const klass = outcome.hit && !outcome.isRightClass ? ' (other class)' : ''
    say(`${fold} ${(verdict + klass).padEnd(24)} ${one.id.padEnd(36)} ${detail.join(', ')}`)
  }
  const isRace = (one: Outcome): boolean => one.class !== 'blocking'
  const of = (numbers: readonly number[]): Outcome[] =>
    numbers.flatMap((number) => byFold.get(number) ?? [])
  const all = [...byFold.keys()]
  const unread = all.filter((fold) => !readFolds.includes(fold))
  return {
    noise: values.noise,
    types: values.types,
    byFold: Object.fromEntries(all.map((fold) => [fold, tally(of([fold]).filter(isRace))])),
    read: tally(of(all.filter((fold) => readFolds.includes(fold))).filter(isRace)),
    unread: tally(of(unread).filter(isRace)),
    blocking: tally(of(all).filter((one) => !isRace(one))),
    ...(values.funnel && { funnel: funnelOf(losses) }),
  }
}

interface FunnelRow {
  readonly stage: Stage
  readonly read: number
  readonly unread: number
}

function funnelOf(
  losses: readonly { readonly isRead: boolean; readonly stage: Stage }[],
): FunnelRow[] {
  const count = (stage: Stage, isRead: boolean): number =>
    losses.filter((one) => one.stage === stage && one.isRead === isRead).length
  return stages.map((stage) => ({ stage, read: count(stage, true), unread: count(stage, false) }))
}

interface PackageList {
  readonly packages: readonly string[]
}

async function clean() {
  const { packages } = readData(
    values.packages ?? new URL('well-reviewed.json', import.meta.url),
  ) as PackageList
  const byRule: Record<string, Record<'note' | 'warning' | 'error', number>> = {}
  let lines = 0
  let files = 0
  let milliseconds = 0
  for (const spec of packages) {
    const { findings, stats } = await analyzePackage(spec, values.noise)
    lines += stats.lines
    files += stats.files
    milliseconds += stats.ms.total
    for (const finding of findings) {
      const row = (byRule[finding.rule] ??= { note: 0, warning: 0, error: 0 })
      row[finding.level]++
      if (values.list && finding.level !== 'note')
        say(
          `${spec} ${finding.level} ${finding.rule} ${finding.file}:${finding.check}-${finding.act} ${finding.message}`,
        )
    }
  }
  const count = (level: 'note' | 'warning' | 'error'): number =>
    Object.values(byRule).reduce((sum, row) => sum + row[level], 0)
  const reported = count('warning') + count('error')
  const perThousand = (number: number): number => Math.round((number / lines) * 1e6) / 1e3
  return {
    packages: packages.length,
    files,
    lines,
    reported,
    errors: count('error'),
    perThousandLines: perThousand(reported),
    races: perThousand(
      Object.entries(byRule)
        .filter(([rule]) => rule.startsWith('H'))
        .reduce((sum, [, row]) => sum + row.warning + row.error, 0),
    ),
    notes: count('note'),
    byRule,
    linesPerSecond: Math.round((lines / milliseconds) * 1_000),
  }
}

const isWanted = (part: string): boolean => values.only === undefined || values.only === part
const result = {
  ...(isWanted('races') && { races: await races() }),
  // Not by default: the repositories are large, and may not be there.
  ...(values.only === 'commits' && {
    commits: await commitRaces({
      noise: values.noise,
      types: values.types,
      folds: values.fold?.split(',').map(Number),
      only: values.case,
      say,
    }),
  }),
  ...(isWanted('clean') && values.case === undefined && { clean: await clean() }),
}
if (values.json) process.stdout.write(`${JSON.stringify(result)}\n`)
else {
  if (result.races !== undefined) {
    for (const [name, one] of Object.entries({
      ...result.races.byFold,
      'read folds': result.races.read,
      'unread folds': result.races.unread,
      blocking: result.races.blocking,
    })) {
      const classes = Object.entries(one.byClass)
        .map(([klass, row]) => `${klass} ${row.silent}/${row.cases}`)
        .join(', ')
      say(
        `${name.padEnd(12)} ${one.hitsSilentWhenFixed} of ${one.cases} (${one.hits} hit, ${one.rightClass} of the right class, ${one.noted} only noted): ${classes}`,
      )
    }
  }
  if (result.races?.funnel !== undefined) {
    say('\nlost at           read  unread')
    for (const { stage, read, unread } of result.races.funnel)
      say(
        `${stage.padEnd(16)} ${String(read).padStart(5)} ${String(unread).padStart(7)}  ${meanings[stage]}`,
      )
  }
  if (result.commits !== undefined)
    for (const [name, one] of Object.entries({
      ...result.commits.byFold,
      'read folds': result.commits.read,
      'unread folds': result.commits.unread,
    }))
      say(
        `${name.padEnd(12)} ${one.hitsSilentWhenFixed} of ${one.cases} in ${one.repositories} repositories (${one.hits} hit, ${one.noted} only noted; right class ${one.rightClass.join(' of ')})`,
      )
  if (result.clean !== undefined) {
    const { lines, packages, perThousandLines, races: h, notes, byRule } = result.clean
    say(
      `\n${perThousandLines} warnings and errors per 1,000 lines (races ${h}) on ${lines} lines of ${packages} packages; ${notes} notes; ${result.clean.linesPerSecond} lines/s`,
    )
    for (const [rule, row] of Object.entries(byRule).sort(([a], [b]) => (a < b ? -1 : 1)))
      say(`  ${rule} ${row.error} errors, ${row.warning} warnings, ${row.note} notes`)
  }
}
