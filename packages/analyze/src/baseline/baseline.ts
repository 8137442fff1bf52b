/**
 * The findings that were there before: a project with a hundred of them can start today and see only
 * new ones.
 *
 * I1. The file names findings by fingerprint, without lines: it changes only when findings do.
 * I2. Entries of files that were not analysed are kept unchanged, and are never called fixed.
 * I3. It is sorted, one entry to a line: two branches that change it merge without a conflict mostly.
 */
import type { Finding } from '../finding.ts'
import type { FixedFinding, ReportedFinding } from '../report/report.ts'

export const baselineName = 'heddle-analyze.baseline.json'

export type BaselineEntry = FixedFinding

export interface Baseline {
  readonly version: 1
  readonly findings: readonly BaselineEntry[]
}

/** Why a text is not a baseline. */
export interface BaselineProblem {
  readonly problem: string
}

const fields = ['fingerprint', 'rule', 'file', 'function', 'message'] as const

export function parseBaseline(text: string): Baseline | BaselineProblem {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return { problem: `is not JSON (${(error as Error).message})` }
  }
  const { version, findings } = (value ?? {}) as { version?: unknown; findings?: unknown }
  if (version !== 1) return { problem: `has version ${JSON.stringify(version)}, and 1 is known` }
  if (!Array.isArray(findings)) return { problem: 'has no list "findings"' }
  for (const [i, entry] of findings.entries()) {
    const missing = fields.find(
      (field) => typeof (entry as BaselineEntry | null)?.[field] !== 'string',
    )
    if (missing !== undefined) return { problem: `has no text "${missing}" in findings[${i}]` }
  }
  return { version: 1, findings: findings as BaselineEntry[] }
}

/** A line for each entry. */
export function formatBaseline({ version, findings }: Baseline): string {
  const lines = findings.map((entry) => `    ${JSON.stringify(entry)}`)
  const list = lines.length === 0 ? '[]' : `[\n${lines.join(',\n')}\n  ]`
  return `{\n  "version": ${version},\n  "findings": ${list}\n}\n`
}

export interface Comparison {
  readonly findings: readonly ReportedFinding[]
  readonly fixed: readonly BaselineEntry[]
}

/** Tells findings apart. `wasLookedAt` says whether an entry could have been found at all. */
export function compareWithBaseline(
  findings: readonly Finding[],
  baseline: Baseline | undefined,
  wasLookedAt: (entry: BaselineEntry) => boolean,
): Comparison {
  const known = new Set(baseline?.findings.map(({ fingerprint }) => fingerprint))
  const found = new Set(findings.map(({ fingerprint }) => fingerprint))
  return {
    findings: findings.map((finding) => ({
      finding,
      state: known.has(finding.fingerprint) ? 'known' : 'new',
    })),
    fixed: (baseline?.findings ?? []).filter(
      (entry) => !found.has(entry.fingerprint) && wasLookedAt(entry),
    ),
  }
}

/** The baseline to write after this analysis: its findings, and old entries that it could not have found. */
export function nextBaseline(
  findings: readonly Finding[],
  baseline: Baseline | undefined,
  wasLookedAt: (entry: BaselineEntry) => boolean,
): Baseline {
  const entries = new Map<string, BaselineEntry>()
  for (const entry of baseline?.findings ?? [])
    if (!wasLookedAt(entry)) entries.set(entry.fingerprint, entry)
  for (const { fingerprint, rule, file, function: name, message } of findings)
    entries.set(fingerprint, { fingerprint, rule, file, function: name, message })
  const sorted = [...entries.values()].toSorted(
    (a, b) => order(a.file, b.file) || order(a.rule, b.rule) || order(a.fingerprint, b.fingerprint),
  )
  return { version: 1, findings: sorted }
}

/** Compares by code units: the same on every machine. */
function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
