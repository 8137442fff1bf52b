/**
 * A name for a finding that survives edits elsewhere.
 *
 * It is made of what the finding is about: the rule, the function, the shared location, and the text
 * of check, suspension and act. Line numbers and file names are left out, so lines can be added above,
 * code can be laid out anew and files can be moved. Two findings that are equal in all of this are
 * numbered in the order of the report: when a third one is added, exactly one of the three is new.
 *
 * Known limit: renaming the function or the location makes a new finding. That is meant: somebody
 * looks at the code anyway.
 */
import { createHash } from 'node:crypto'
import type { Finding, SourceSpan } from '../finding.ts'
import { LineIndex } from '../report/line-index.ts'

/** Hexadecimal digits: 64 bits, so 100,000 findings collide once in three billion programs. */
const length = 16

/** A finding as rules make it. */
export type UnnamedFinding = Omit<Finding, 'fingerprint'>

/** The text of a file by the path that findings use; undefined when it is gone. */
export type ReadText = (file: string) => string | undefined

/** Layout and comments are not what code says. A `//` inside a string is cut too: on both sides. */
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
  const indexes = new Map<string, LineIndex | undefined>()
  const textAt = (span: SourceSpan | undefined): string => {
    if (span === undefined) return ''
    if (!indexes.has(span.file)) {
      const text = read(span.file)
      indexes.set(span.file, text === undefined ? undefined : new LineIndex(text))
    }
    return normalise(indexes.get(span.file)?.slice(span) ?? '')
  }
  const seen = new Map<string, number>()
  return findings.map((finding) => {
    const hash = createHash('sha256')
      .update(
        JSON.stringify([
          finding.rule,
          finding.function,
          finding.key,
          textAt(finding.checkSpan),
          textAt(finding.suspension),
          textAt(finding.actSpan),
        ]),
      )
      .digest('hex')
      .slice(0, length)
    const count = (seen.get(hash) ?? 0) + 1
    seen.set(hash, count)
    return { ...finding, fingerprint: count === 1 ? hash : `${hash}-${count}` }
  })
}
