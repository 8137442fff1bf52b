/** How a release ended, for people. */
import type { ReleaseOutcome } from '@heddle/release'
import type { PackageReport, ReleaseReport } from '@heddle/release'
import { formatDuration, plural } from '../view/format.ts'
import { span, type Line, type Style } from '../view/line.ts'
import type { Symbols } from '../view/symbols.ts'
import { printable, printableLines } from '../view/text.ts'
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

export function reportLines(report: ReleaseReport, symbols: Symbols): Line[] {
  const width = Math.max(0, ...report.packages.map((each) => titleOf(each).length))
  return [
    [],
    ...report.packages.flatMap((each) => packageLines(each, report.isDryRun, width, symbols)),
    ...stageTable(report.packages),
    ...report.restored.map((file): Line => [
      span(`${symbols.warning} `, 'yellow'),
      span(`restored: an interrupted release had left it pinned: ${printable(file)}`),
    ]),
    ...report.warnings.map((text): Line => [
      span(`${symbols.warning} `, 'yellow'),
      span(printable(text)),
    ]),
    ...closing(report),
  ]
}

const titleOf = ({ name, version }: PackageReport): string => printable(`${name}@${version}`)

function packageLines(
  each: PackageReport,
  isDryRun: boolean,
  width: number,
  { states }: Symbols,
): Line[] {
  const { outcome, blockedBy, problems } = each
  const isRehearsed = isDryRun && outcome === 'skipped' && problems.length === 0
  const style = isRehearsed ? 'green' : outcomeStyles[outcome]
  const state = isRehearsed ? 'succeeded' : outcomeStates[outcome]
  const word = isRehearsed ? 'packed and checked, not uploaded' : outcomeWords[outcome]
  const by = blockedBy === undefined || outcome !== 'blocked' ? '' : ` by ${printable(blockedBy)}`
  const lines: Line[] = [
    [
      span(`${states[state]} `, style),
      span(titleOf(each).padEnd(width)),
      span(`  ${word}${by}`, style),
    ],
  ]
  for (const { stage, message, help } of problems) {
    const [first = '', ...rest] = printableLines(message)
    lines.push([span(`    ${stage}: ${first}`)])
    for (const text of rest) lines.push([span(`    ${text}`, 'dim')])
    if (help !== undefined) lines.push([span(`    ${printable(help)}`, 'cyan')])
  }
  return lines
}

function closing({ ok, isDryRun, packages, ms }: ReleaseReport): Line[] {
  const count = (...outcomes: ReleaseOutcome[]): number =>
    packages.filter(({ outcome }) => outcomes.includes(outcome)).length
  const done = count('published', 'already-published') + (isDryRun ? count('skipped') : 0)
  const what = isDryRun ? 'on the registry or ready to be published' : 'on the registry'
  const sum = `${done} of ${plural(packages.length, 'package')} ${what}, ${formatDuration(ms)}`
  const lines: Line[] = [[], [span(sum, ok ? ['green', 'bold'] : ['red', 'bold'])]]
  if (!ok && !isDryRun && packages.some(helpsToRunAgain)) {
    lines.push([
      span('Run the same command again to finish the release. Nothing is uploaded twice.', 'cyan'),
    ])
  }
  return lines
}

/** A conflict stays one; everything else may pass, or be corrected. */
function helpsToRunAgain({ outcome, problems }: PackageReport): boolean {
  if (outcome === 'published' || outcome === 'already-published') return problems.length > 0
  return outcome !== 'conflict' && outcome !== 'blocked'
}
