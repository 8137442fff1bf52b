/** The machine-readable report: one document, described by schema/report.schema.json. */
import type { AnalysisStats, Diagnostic } from '../analysis.ts'
import type { Finding } from '../finding.ts'
import { countLevels, isIncomplete, type FixedFinding, type Report } from './report.ts'

export interface JsonFinding extends Finding {
  /** The state in the baseline; `new` also without one. */
  readonly state: 'new' | 'known'
}

export interface JsonReport {
  /** Fields are added, never renamed: a reader of version 1 reads every later document of version 1. */
  readonly version: 1
  readonly findings: readonly JsonFinding[]
  readonly suppressed: readonly (Finding & { readonly reason: string })[]
  readonly fixed: readonly FixedFinding[]
  readonly diagnostics: readonly Diagnostic[]
  readonly summary: {
    readonly error: number
    readonly warning: number
    readonly note: number
    readonly new: number
    readonly known: number
    readonly suppressed: number
    readonly fixed: number
    readonly belowLevel: number
    readonly incomplete: boolean
  }
  readonly stats: AnalysisStats
}

export function jsonReport(report: Report): JsonReport {
  const { findings, suppressed, fixed, diagnostics, belowLevel, stats } = report
  const known = findings.filter(({ state }) => state === 'known').length
  return {
    version: 1,
    findings: findings.map(({ finding, state }) => ({ ...finding, state })),
    suppressed: suppressed.map(({ finding, reason }) => ({ ...finding, reason })),
    fixed,
    diagnostics,
    summary: {
      ...countLevels(findings.map(({ finding }) => finding)),
      new: findings.length - known,
      known,
      suppressed: suppressed.length,
      fixed: fixed.length,
      belowLevel,
      incomplete: isIncomplete(report),
    },
    stats,
  }
}
