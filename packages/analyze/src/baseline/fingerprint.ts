/**
 * A name for a finding that survives edits elsewhere.
 *
 * It is made of the parts of the finding: the rule, the function, the shared location, and the text
 * of check, suspension and act. Line numbers and file names are left out, so lines can be added above,
 * code can be reformatted and files can be moved. Two findings that are equal in all of this are
 * numbered in the order of the report: when a third one is added, exactly one of the three is new.
 *
 * Known limit: renaming the function or the location makes a new finding. That is meant: a person
 * reads the code anyway.
 */
import { hash } from 'node:crypto'
import type { Finding, SourceSpan } from '../finding.ts'
import { SourceLines, type ReadText } from '../report/source-lines.ts'

/** Hexadecimal digits: 64 bits, so 100,000 findings collide once in three billion programs. */
const length = 16

/** A finding as rules make it. */
export type UnnamedFinding = Omit<Finding, 'fingerprint'>

export type { ReadText } from '../report/source-lines.ts'

/** Characters of a text that count: a whole class may be one expression. */
const longestText = 2_000

/** Layout and comments do not count as code. A `//` inside a string is cut too: on both sides. */
export function normalise(code: string): string {
  return code
    .replace(/\/\*[^]*?\*\/|\/\/[^\n]*/g, ' ')
    .replace(/\s+/g, ' ')
    .replace(/ ?([^\w$# ]) ?/g, '$1')
    .replace(/;+$/, '')
    .trim()
}

/** Gives each finding its fingerprint. The order is that of the report and stays. */
export function withFingerprints(findings: readonly UnnamedFinding[], read: ReadText): Finding[] {
  const lines = new SourceLines(read)
  const textAt = (span: SourceSpan | undefined): string => {
    const text = span === undefined ? undefined : lines.of(span.file)?.slice(span)
    return normalise(text?.slice(0, longestText) ?? '')
  }
  const seen = new Map<string, number>()
  return findings.map((finding) => {
    const print = hash(
      'sha256',
      JSON.stringify([
        finding.rule,
        finding.function,
        finding.key,
        textAt(finding.checkSpan),
        textAt(finding.suspension),
        textAt(finding.actSpan),
      ]),
    ).slice(0, length)
    const count = (seen.get(print) ?? 0) + 1
    seen.set(print, count)
    return { ...finding, fingerprint: count === 1 ? print : `${print}-${count}` }
  })
}
