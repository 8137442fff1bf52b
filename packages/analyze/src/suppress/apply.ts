/**
 * Takes out the findings that comments accept, and finds the comments that only look like suppressions.
 *
 * I1. A directive holds for the line of the comment, and for the statement below it, or its head.
 * I2. Only a directive with a reason, a rule that exists and a day that is not over suppresses.
 * I3. A directive is called unused only where its rule could have reported.
 */
import { withFingerprints, type ReadText, type UnnamedFinding } from '../baseline/fingerprint.ts'
import { rulePage } from '../explain/pages.ts'
import type { Finding } from '../finding.ts'
import type { SuppressedFinding } from '../report/report.ts'
import { directivesIn, type PlacedDirective } from './comments.ts'
import { isExpired } from './directive.ts'
import { problemsOf, unused } from './suppression-problems.ts'

export interface SuppressOptions {
  /** The analysed files, by the paths that findings use. */
  readonly files: readonly string[]
  readonly read: ReadText
  /** `2026-11-16`, by UTC. */
  readonly today: string
  /** Whether a rule could have reported at this line: it was on, with types, in a file that was read. */
  couldReport(rule: string, file: string, line: number): boolean
}

export interface SuppressResult {
  readonly findings: readonly Finding[]
  readonly suppressed: readonly SuppressedFinding[]
  /** About the comments. They cannot be suppressed. */
  readonly problems: readonly Finding[]
}

export function applySuppressions(
  findings: readonly Finding[],
  options: SuppressOptions,
): SuppressResult {
  const { files, read, today } = options
  const active = new Map<string, Entry[]>()
  const entries: Entry[] = []
  const problems: UnnamedFinding[] = []
  for (const file of files) {
    const text = read(file)
    if (text === undefined) continue
    for (const directive of directivesIn(file, text)) {
      problems.push(...problemsOf(directive, today))
      if (!holds(directive, today)) continue
      for (const rule of directive.rules) {
        const id = rulePage(rule)?.id
        if (id === undefined) continue
        const entry: Entry = { rule: id, directive, isUsed: false }
        entries.push(entry)
        const own = active.get(file)
        if (own === undefined) active.set(file, [entry])
        else own.push(entry)
      }
    }
  }
  const left: Finding[] = []
  const suppressed: SuppressedFinding[] = []
  for (const finding of findings) {
    const accepting = (active.get(finding.file) ?? []).filter((each) => covers(each, finding))
    // One at the check and one at the act: neither is too many.
    for (const entry of accepting) entry.isUsed = true
    const [first] = accepting
    if (first === undefined) left.push(finding)
    else suppressed.push({ finding, reason: first.directive.reason })
  }
  for (const { rule, directive, isUsed } of entries) {
    const { file, line } = directive.span
    if (!isUsed && options.couldReport(rule, file, line)) problems.push(unused(rule, directive))
  }
  return { findings: left, suppressed, problems: withFingerprints(problems, read) }
}

interface Entry {
  readonly rule: string
  readonly directive: PlacedDirective
  isUsed: boolean
}

/** At the line an editor shows the finding at, or at its check or its act. */
function covers({ rule, directive }: Entry, finding: Finding): boolean {
  if (rule !== finding.rule) return false
  const lines = [finding.line]
  if (finding.checkSpan.file === finding.file) lines.push(finding.checkSpan.line)
  if (finding.actSpan.file === finding.file) lines.push(finding.actSpan.line)
  const { own, below } = directive
  return lines.some((line) => line === own || (line >= below[0] && line <= below[1]))
}

function holds({ reason, until, badUntil }: PlacedDirective, today: string): boolean {
  if (reason === '' || badUntil !== undefined) return false
  return until === undefined || !isExpired(until, today)
}
