/**
 * From an analysis to its report: settings of rules, targets, suppressions, baseline, level, in this
 * order. The order matters: a suppression of a finding that is below the level is not unused, and an
 * entry of the baseline that is below it is not fixed.
 */
import type { Analysis } from '../analysis.ts'
import type { LineRange } from '../frontend/targets/git-changes.ts'
import { compareWithBaseline, nextBaseline, type Baseline } from '../baseline/baseline.ts'
import type { RuleSetting } from '../config/analyze-config.ts'
import { levels, type Finding, type Level } from '../finding.ts'
import { applySuppressions } from '../suppress/apply.ts'
import type { FixedFinding, Report } from './report.ts'
import { SourceLines } from './source-lines.ts'
import { surveyTargets } from './survey-targets.ts'

export interface ReportOptions {
  /** Whether a finding is in a target; `extent` are the lines of its function. */
  isWanted(finding: Finding, extent?: LineRange): boolean
  /** Whether all of a file is a target: a finding that is missing there is fixed. */
  isWhole(file: string): boolean
  /** Whether a file that the program does not have is still on disk. */
  exists(file: string): boolean
  readonly rules: Readonly<Record<string, RuleSetting>>
  /** Findings below it are not shown. */
  readonly level: Level
  /** Findings below it are not written to the baseline: they never fail. */
  readonly failLevel: Level
  readonly baseline: Baseline | undefined
  readonly showsKnown: boolean
  /** Targets that are described even where nothing is found; that needs the program. */
  readonly surveyed: readonly string[]
  /** Types were switched off for this run: a finding that is missing now may be found in the next. */
  readonly isWithoutTypes: boolean
  /** `2026-11-16`, by UTC. */
  readonly today: string
}

export interface MadeReport {
  readonly report: Report
  /** The baseline that `--write-baseline` writes. */
  readonly baseline: Baseline
}

export function makeReport(analysis: Analysis, options: ReportOptions): MadeReport {
  const { diagnostics, stats, extentOf } = analysis
  const { rules, level, failLevel, baseline } = options
  const files = new Map(analysis.files.map(({ path, text }) => [path, text]))
  const read = (file: string): string | undefined => files.get(file)
  const broken = new Set(diagnostics.filter((each) => each.isIncomplete).map(({ file }) => file))
  const isAnalysed = (file: string): boolean =>
    files.has(file) && !broken.has(file) && options.isWhole(file)

  const sawAll =
    !options.isWithoutTypes &&
    !broken.has(undefined) &&
    diagnostics.every(({ kind }) => kind !== 'types-lost')
  const isWanted = (finding: Finding): boolean => options.isWanted(finding, extentOf(finding))

  const wanted = analysis.findings
    .flatMap((finding) => withSetting(finding, rules[finding.rule]))
    .filter(isWanted)
  const { findings, suppressed, problems } = applySuppressions(wanted, {
    files: [...files.keys()],
    read,
    today: options.today,
    couldReport: (rule, file) => rules[rule] !== 'off' && sawAll && isAnalysed(file),
  })
  const all = [
    ...findings,
    ...problems.filter(isWanted).flatMap((problem) => withSetting(problem, rules[problem.rule])),
  ].toSorted(byPlace)

  const wasLookedAt = ({ file, rule }: FixedFinding): boolean =>
    rules[rule] !== 'off' && (files.has(file) ? isAnalysed(file) : !options.exists(file))
  const compared = compareWithBaseline(all, baseline, wasLookedAt)
  const shown = compared.findings.filter(({ finding }) => isAtLeast(finding, level))
  return {
    report: {
      findings: shown,
      suppressed,
      fixed: compared.fixed,
      diagnostics,
      stats,
      belowLevel: compared.findings.length - shown.length,
      hasBaseline: baseline !== undefined,
      showsKnown: options.showsKnown,
      surveys:
        analysis.program === undefined ? [] : surveyTargets(options.surveyed, analysis.program),
      source: new SourceLines(read),
    },
    baseline: nextBaseline(
      all.filter((finding) => isAtLeast(finding, failLevel)),
      baseline,
      wasLookedAt,
    ),
  }
}

export function isAtLeast(finding: Finding, level: Level): boolean {
  return levels.indexOf(finding.level) >= levels.indexOf(level)
}

function withSetting(finding: Finding, setting: RuleSetting | undefined): Finding[] {
  if (setting === undefined) return [finding]
  return setting === 'off' ? [] : [{ ...finding, level: setting }]
}

function byPlace(a: Finding, b: Finding): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1
  return a.line - b.line || (a.rule < b.rule ? -1 : a.rule > b.rule ? 1 : 0)
}
