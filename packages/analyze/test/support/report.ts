/** Reports around given findings, and the width that a terminal would count. */
import type { Finding } from '../../src/finding.ts'
import type { Report } from '../../src/report/report.ts'
import { SourceLines } from '../../src/report/source-lines.ts'
import type { Line, Measure, TextOptions } from '../../src/report/text/line.ts'
import { sampleFile, sampleFinding, sampleText } from './sample.ts'

export const sampleSource = new SourceLines((file) =>
  file === sampleFile ? sampleText : undefined,
)

export function sampleReport(
  changes: Partial<Report> = {},
  findings: readonly Finding[] = [sampleFinding()],
): Report {
  return {
    findings: findings.map((finding) => ({ finding, state: 'new' })),
    suppressed: [],
    fixed: [],
    diagnostics: [],
    stats: {
      files: 1,
      lines: 17,
      functions: 2,
      types: 'typescript-7',
      ms: { parse: 1, lower: 1, types: 1, summaries: 1, rules: 1, total: 5 },
    },
    belowLevel: 0,
    hasBaseline: false,
    showsKnown: false,
    surveys: [],
    source: sampleSource,
    ...changes,
  }
}

/** Every character takes one column, tabs four, and controls are shown as `?`. */
export const plainMeasure: Measure = {
  // oxlint-disable-next-line no-control-regex -- what a terminal must not get
  printable: (text) => text.replaceAll('\t', '    ').replace(/[\u0000-\u001f\u007f]/g, '?'),
  widthOf: (text) => text.length,
  truncate: (text, columns) =>
    text.length <= columns ? text : columns < 1 ? '' : `${text.slice(0, columns - 1)}…`,
}

export const plainText: TextOptions = {
  measure: plainMeasure,
  columns: 100,
  isTerminal: false,
  unicode: true,
}

export function textOf(lines: readonly Line[]): string {
  return lines.map((line) => line.map(({ text }) => text).join('')).join('\n')
}
