import type { Finding, SourceSpan } from '../../finding.ts'
import type { LineRange } from './git-changes.ts'

/** Which part of a file was asked for. Several parts add up. */
export interface WantedPart {
  readonly isWhole: boolean
  readonly lines: readonly LineRange[]
  /** `Client.connect`, or the end of such a name: `connect`. */
  readonly functions: readonly string[]
}

export const wholeFile: WantedPart = { isWhole: true, lines: [], functions: [] }

export function addParts(a: WantedPart | undefined, b: WantedPart): WantedPart {
  return {
    isWhole: b.isWhole || (a?.isWhole ?? false),
    lines: [...(a?.lines ?? []), ...b.lines],
    functions: [...(a?.functions ?? []), ...b.functions],
  }
}

/** The files that a finding is about. */
export function filesOf({ file, actSpan, conflict }: Finding): readonly string[] {
  return [...new Set([file, actSpan.file, conflict?.file ?? file])]
}

/**
 * Whether a finding is about a part of `file`, one of its files: by its function, or by the lines from
 * check to act.
 */
export function concerns(finding: Finding, file: string, part: WantedPart): boolean {
  if (part.isWhole) return true
  const isNamed =
    finding.file === file && part.functions.some((name) => isPartOf(finding.function, name))
  return isNamed || part.lines.some((lines) => isInLines(finding, file, lines))
}

/** Whether a change may have made a finding: it touches the function or the location of the finding. */
export function isInChange(
  finding: Finding,
  file: string,
  lines: readonly LineRange[],
  extent: LineRange | undefined,
): boolean {
  const isInFunction =
    finding.file === file && extent !== undefined && lines.some((range) => overlap(range, extent))
  return isInFunction || lines.some((range) => isInLines(finding, file, range))
}

/** `connect` names `Client.connect` and everything inside it. */
export function isPartOf(qualified: string, name: string): boolean {
  return `.${qualified}.`.includes(`.${name}.`)
}

function isInLines(finding: Finding, file: string, lines: LineRange): boolean {
  const window = [finding.checkSpan, finding.actSpan, finding.suspension]
    .filter((span) => span !== undefined)
    .filter((span) => span.file === file)
  const conflict = finding.conflict?.file === file ? [finding.conflict] : []
  return overlapsHull(window, lines) || overlapsHull(conflict, lines)
}

function overlapsHull(spans: readonly SourceSpan[], lines: LineRange): boolean {
  if (spans.length === 0) return false
  const first = Math.min(...spans.map(({ line }) => line))
  const last = Math.max(...spans.map(({ endLine }) => endLine))
  return overlap([first, last], lines)
}

function overlap(a: LineRange, b: LineRange): boolean {
  return a[0] <= b[1] && b[0] <= a[1]
}
