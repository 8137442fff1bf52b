/** The common input of all formats: the findings after baseline, suppressions and level. */
import type { AnalysisStats, Diagnostic } from '../analysis.ts'
import type { Finding, Level } from '../finding.ts'
import type { SourceLines } from './source-lines.ts'
import type { Survey } from './survey.ts'

/** A finding and its state in the baseline: `new` also without a baseline. */
export interface ReportedFinding {
  readonly finding: Finding
  readonly state: 'new' | 'known'
}

/** A finding that a comment in the source answers. */
export interface SuppressedFinding {
  readonly finding: Finding
  readonly reason: string
}

/** A finding of the baseline that is no longer found. */
export interface FixedFinding {
  readonly fingerprint: string
  readonly rule: string
  readonly file: string
  readonly function: string
  readonly message: string
}

export interface Report {
  /** The findings at or above the level, by file, line and rule. */
  readonly findings: readonly ReportedFinding[]
  readonly suppressed: readonly SuppressedFinding[]
  readonly fixed: readonly FixedFinding[]
  readonly diagnostics: readonly Diagnostic[]
  readonly stats: AnalysisStats
  /** How many were left out because their level is below the threshold. */
  readonly belowLevel: number
  /** Whether a baseline splits the findings into known and new. */
  readonly hasBaseline: boolean
  /** Whether people want to see findings of the baseline as well. Programs always get them. */
  readonly showsKnown: boolean
  /** Surveys of the targets that are parts of files, for documents about them. */
  readonly surveys: readonly Survey[]
  /** The source lines for code frames. */
  readonly source: SourceLines
}

/** The findings that people are shown. */
export function shownFindings({ findings, showsKnown }: Report): Finding[] {
  return findings.filter(({ state }) => showsKnown || state === 'new').map(({ finding }) => finding)
}

export type LevelCounts = Readonly<Record<Level, number>>

export function countLevels(findings: readonly Finding[]): LevelCounts {
  const counts = { error: 0, warning: 0, note: 0 }
  for (const { level } of findings) counts[level]++
  return counts
}

/** Whether something was left out of the analysis: missing findings may still be there. */
export function isIncomplete({ diagnostics }: Report): boolean {
  return diagnostics.some((diagnostic) => diagnostic.isIncomplete)
}
