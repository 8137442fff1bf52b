/** How a release ended, for people. */
import {
  needsPerson,
  type PackageReport,
  type Problem,
  type ReleaseOutcome,
  type ReleaseReport,
} from '@heddle/release'
import { formatDuration, plural } from '../text/format.ts'
import { span, type Line, type Style } from '../text/line.ts'
import type { Symbols } from '../text/symbols.ts'
import { printable, printableLines } from '../text/terminal-text.ts'
import { stageTable } from './stage-table.ts'

const outcomeWords: Readonly<Record<ReleaseOutcome, string>> = {
  published: 'published',
  'already-published': 'already published',
  'accepted-not-visible': 'accepted by the registry, not visible yet',
  failed: 'failed',
  blocked: 'blocked',
  conflict: 'conflict: the registry has other content under this version',
  skipped: 'skipped',
}

const outcomeStyles: Readonly<Record<ReleaseOutcome, Style>> = {
  published: 'green',
  'already-published': 'green',
  'accepted-not-visible': 'yellow',
  failed: 'red',
  blocked: 'magenta',
  conflict: 'red',
  skipped: 'dim',
}

const outcomeStates = {
  published: 'succeeded',
  'already-published': 'succeeded',
  'accepted-not-visible': 'waiting',
  failed: 'failed',
  blocked: 'blocked',
  conflict: 'failed',
  skipped: 'skipped',
} as const

/** How much each outcome concerns its reader. */
const outcomeRanks: Readonly<Record<ReleaseOutcome, number>> = {
  published: 0,
  'already-published': 0,
  skipped: 1,
  blocked: 2,
  'accepted-not-visible': 3,
  failed: 4,
  conflict: 4,
}

function attention({ outcome, problems }: PackageReport): number {
  return problems.length > 0 ? outcomeRanks.failed : outcomeRanks[outcome]
}

export interface Around {
  /** The remote that has not got the new tags; undefined where they were pushed, or there is none. */
  readonly unpushedTo?: string | undefined
}

export function reportLines(
  report: ReleaseReport,
  symbols: Symbols,
  { unpushedTo }: Around = {},
): Line[] {
  const width = Math.max(0, ...report.packages.map((each) => titleOf(each).length))
  // What needs attention stands last: the rest of a long release scrolls off a terminal.
  const sorted = report.packages.toSorted((a, b) => attention(a) - attention(b))
  return [
    ...stageTable(report.packages),
    [],
    ...sorted.flatMap((each) => packageLines(each, report.isDryRun, width, symbols)),
    ...report.restored.map((file): Line => [
      span(`${symbols.warning} `, 'yellow'),
      span(`restored: an interrupted release had left it pinned: ${printable(file)}`),
    ]),
    ...report.warnings.map((text): Line => [
      span(`${symbols.warning} `, 'yellow'),
      span(printable(text)),
    ]),
    ...closing(report),
    ...(unpushedTo === undefined ? [] : unpushedTags(report, unpushedTo)),
  ]
}

function unpushedTags({ packages }: ReleaseReport, remote: string): Line[] {
  const made = packages.flatMap(({ outcome, gitTag }) =>
    outcome === 'published' && gitTag !== undefined ? [gitTag] : [],
  )
  const count = new Set(made).size
  if (count === 0) return []
  const text = `${plural(count, 'Git tag')} only in this clone: \`git push ${printable(remote)} --tags\`, or publish with --push.`
  return [[span(text, 'cyan')]]
}

const titleOf = ({ name, version }: PackageReport): string => printable(`${name}@${version}`)

function packageLines(
  each: PackageReport,
  isDryRun: boolean,
  width: number,
  { states }: Symbols,
): Line[] {
  const { outcome, blockedBy, problems } = each
  const isReady = isDryRun && isRehearsed(each)
  const style = isReady ? 'green' : outcomeStyles[outcome]
  const state = isReady ? 'succeeded' : outcomeStates[outcome]
  const word = isReady ? 'packed and checked, not uploaded' : outcomeWords[outcome]
  const by = blockedBy === undefined || outcome !== 'blocked' ? '' : ` by ${printable(blockedBy)}`
  const lines: Line[] = [
    [
      span(`${states[state]} `, style),
      span(titleOf(each).padEnd(width)),
      span(`  ${word}${by}`, style),
    ],
  ]
  for (const { stage, code, message, help } of problems) {
    if (code === 'HDL_CANCELLED') {
      lines.push([span(`    ${stage}: cancelled`)])
      continue
    }
    const [first = '', ...rest] = printableLines(message)
    lines.push([span(`    ${stage}: ${first}`)])
    for (const text of rest) lines.push([span(`    ${text}`, 'dim')])
    if (help !== undefined) lines.push([span(`    ${printable(help)}`, 'cyan')])
  }
  return lines
}

/** Packed and checked by a dry run, which a cancelled one did not come to for all. */
function isRehearsed({ outcome, problems, integrity }: PackageReport): boolean {
  return outcome === 'skipped' && problems.length === 0 && integrity !== undefined
}

function isDone({ outcome }: PackageReport): boolean {
  return outcome === 'published' || outcome === 'already-published'
}

function closing({ ok, isDryRun, isCancelled, packages, ms }: ReleaseReport): Line[] {
  const done = packages.filter((each) => isDone(each) || (isDryRun && isRehearsed(each))).length
  const silent = packages.filter(({ isOnRegistry }) => isOnRegistry === undefined).length
  const unknown = silent === 0 ? '' : ` (${silent} not known: no answer from the registry)`
  const what = isDryRun ? 'on the registry or ready to be published' : 'on the registry'
  if (packages.length === 0)
    return [[], [span('Nothing to release: no package has a new version.')]]
  const sum = `${done} of ${plural(packages.length, 'package')} ${what}${unknown}, ${formatDuration(ms)}`
  const lines: Line[] = [[], [span(sum, ok ? ['green', 'bold'] : ['red', 'bold'])]]
  if (ok || isDryRun) return lines
  // A package that a cancelled release did not reach has no problem of its own.
  if (isCancelled || packages.some(helpsToRunAgain)) {
    lines.push([
      span('Run the same command again to finish the release. Nothing is uploaded twice.', 'cyan'),
    ])
  } else {
    lines.push([span('Correct the faults named above, then release again.', 'cyan')])
  }
  return lines
}

/** The same command would end the same way, beside what registries refuse. */
const lasting = new Set([
  'HDL_BAD_OPTION',
  'HDL_LOCAL_RANGE',
  'HDL_PACK_FAILED',
  'HDL_TAG_BACKWARDS',
  'HDL_TAG_TAKEN',
  'HDL_TREE_DIRTY',
  'HDL_VERSION_TAKEN',
])

/** What runs the scripts of a package: a command that failed there fails again. Elsewhere it is Git or npm. */
const scripted = new Set<Problem['stage']>(['build', 'pack'])

function mayPass({ stage, code }: Problem): boolean {
  if (stage === 'manifest') return false
  if (code === 'HDL_COMMAND_FAILED') return !scripted.has(stage)
  return code === undefined || (!lasting.has(code) && !needsPerson(code))
}

function helpsToRunAgain({ outcome, problems }: PackageReport): boolean {
  if (outcome === 'conflict' || outcome === 'blocked') return false
  if (outcome === 'published' || outcome === 'already-published') return problems.some(mayPass)
  return problems.length === 0 || problems.some(mayPass)
}
