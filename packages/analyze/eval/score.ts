/**
 * What counts as a hit.
 *
 * A finding of the right class, in the named function, within three lines of the check or the act. A
 * hit is discriminating when the fixed version has no finding of that class in that function.
 */
import type { Finding, FindingClass } from '../src/index.ts'

export interface Case {
  readonly id: string
  /** `name@version` with the defect. */
  readonly npm: string
  /** `name@version` without it. */
  readonly fixed: string
  readonly file: string
  readonly check_line: number
  readonly act_line: number
  readonly class: FindingClass
  readonly reach: string
  readonly function: string
}

export interface Outcome {
  readonly id: string
  readonly class: FindingClass
  readonly hit: boolean
  /** The hits, as `H101 warning :408`. */
  readonly findings: readonly string[]
  /** Right class and function, whatever the lines: some cases name lines outside of the function. */
  readonly hitInFunction: boolean
  readonly discriminating: boolean
}

const tolerance = 3

function lastName(qualified: string): string {
  return qualified.split('.').at(-1) ?? qualified
}

function isInFunction(finding: Finding, wanted: Case): boolean {
  return (
    finding.class === wanted.class &&
    finding.file === wanted.file &&
    finding.function.split('.').some((part) => part === lastName(wanted.function))
  )
}

function isNear(finding: Finding, wanted: Case): boolean {
  return [finding.line, finding.check, finding.act].some(
    (line) =>
      Math.abs(line - wanted.check_line) <= tolerance ||
      Math.abs(line - wanted.act_line) <= tolerance,
  )
}

export function score(wanted: Case, bad: readonly Finding[], fixed: readonly Finding[]): Outcome {
  const inFunction = bad.filter((finding) => isInFunction(finding, wanted))
  const hits = inFunction.filter((finding) => isNear(finding, wanted))
  const rules = new Set(hits.map((finding) => finding.rule))
  const left = fixed.filter((finding) => isInFunction(finding, wanted) && rules.has(finding.rule))
  return {
    id: wanted.id,
    class: wanted.class,
    hit: hits.length > 0,
    findings: hits.map((finding) => `${finding.rule} ${finding.level} :${finding.line}`),
    hitInFunction: inFunction.length > 0,
    discriminating: hits.length > 0 && left.length === 0,
  }
}
