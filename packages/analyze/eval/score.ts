/**
 * What counts as a hit.
 *
 * A finding at level warning or error, in the function of the case, within three lines of the check or
 * of the act. The class is scored apart, so that a finding of another class at the right place counts as
 * a hit of the wrong class. A hit is *silent when fixed* if the fixed version has no finding at that
 * level of the same rules in that function.
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
  /** First and last line of the function in the version with the defect. */
  readonly function_lines?: readonly [number, number]
  readonly repo?: string
  /** `dev` for the cases that were read before there were folds. */
  readonly split?: string
  /** Read to learn from, not scored. */
  readonly doubtful?: boolean
}

/** A function that a repair changed, and the lines of the version before that it changed. */
export interface Place {
  readonly file: string
  readonly function: string
  readonly function_lines: readonly [number, number]
  readonly changed: readonly (readonly [number, number])[]
}

/** A race that a commit repaired. Its places are made by `from-commit.ts`. */
export interface CommitCase {
  readonly id: string
  readonly repo: string
  /** Of a commit that was added later. */
  readonly fold?: number
  readonly before: string
  readonly after: string
  /** The package in a repository of several. */
  readonly folder?: string
  readonly places: readonly Place[]
  /** Said by a reader; absent where the case was not read. */
  readonly class?: FindingClass
  /** Read, and found to be something else than a race that code can show: not scored. */
  readonly doubtful?: boolean
}

export interface Outcome {
  readonly id: string
  readonly class: FindingClass
  readonly hit: boolean
  readonly isRightClass: boolean
  /** The hits, as `H101 warning :408`. */
  readonly findings: readonly string[]
  /** What is reported in the function, notes included, whatever the lines. */
  readonly inFunction: readonly string[]
  /** A note at the right lines: the window was seen and thought harmless. */
  readonly isNoted: boolean
  readonly isSilentWhenFixed: boolean
  /** What the fixed version still has of the rules that hit. */
  readonly left: readonly string[]
}

const tolerance = 3

function lastName(qualified: string): string {
  return qualified.split(/[.#]/).at(-1) ?? qualified
}

function hasName(finding: Finding, name: string): boolean {
  return finding.function.split(/[.#]/).includes(name)
}

function isNear(finding: Finding, wanted: Case): boolean {
  return [finding.line, finding.check, finding.act].some(
    (line) =>
      Math.abs(line - wanted.check_line) <= tolerance ||
      Math.abs(line - wanted.act_line) <= tolerance,
  )
}

/** What is reported in another build of the same source is found here, too. */
const isReported = (finding: Finding): boolean =>
  finding.level !== 'note' || finding.builtFrom !== undefined

const brief = (finding: Finding): string =>
  `${finding.rule} ${finding.level} :${finding.check}-${finding.act}`

/** @param rename Of the name of a function, when names were replaced. */
export function score(
  wanted: Case,
  bad: readonly Finding[],
  fixed: readonly Finding[],
  rename: (name: string) => string = (name) => name,
): Outcome {
  const name = rename(lastName(wanted.function))
  const [first, last] = wanted.function_lines ?? [0, 0]
  const inFunction = bad.filter(
    (finding) =>
      finding.file === wanted.file &&
      (hasName(finding, name) || (finding.line >= first && finding.line <= last)),
  )
  const hits = inFunction.filter((finding) => isReported(finding) && isNear(finding, wanted))
  const right = hits.filter((finding) => finding.class === wanted.class)
  const counted = right.length > 0 ? right : hits
  const rules = new Set(counted.map((finding) => finding.rule))
  const left = fixed.filter(
    (finding) =>
      isReported(finding) &&
      rules.has(finding.rule) &&
      finding.file === wanted.file &&
      hasName(finding, name),
  )
  return {
    id: wanted.id,
    class: wanted.class,
    hit: hits.length > 0,
    isRightClass: right.length > 0,
    findings: counted.map(brief),
    inFunction: inFunction.map(brief),
    isNoted: hits.length === 0 && inFunction.some((finding) => isNear(finding, wanted)),
    isSilentWhenFixed: hits.length > 0 && left.length === 0,
    left: left.map(brief),
  }
}

export interface CommitOutcome {
  readonly id: string
  readonly class?: FindingClass
  readonly hit: boolean
  readonly isSilentWhenFixed: boolean
  readonly findings: readonly string[]
  readonly hitClasses: readonly FindingClass[]
  /** Notes at the lines of the repair. */
  readonly notes: readonly string[]
  /** At other lines of the functions, notes included. */
  readonly elsewhere: readonly string[]
  readonly left: readonly string[]
}

function isAt(finding: Finding, place: Place): boolean {
  return [finding.line, finding.check, finding.act].some((line) =>
    place.changed.some(([first, last]) => line >= first - tolerance && line <= last + tolerance),
  )
}

function isInside(finding: Finding, place: Place): boolean {
  const [first, last] = place.function_lines
  return finding.file === place.file && finding.line >= first && finding.line <= last
}

/** The same question for a case that is named by a commit: a finding where the repair changed code. */
export function scoreCommit(
  wanted: CommitCase,
  bad: readonly Finding[],
  fixed: readonly Finding[],
  rename: (name: string) => string = (name) => name,
): CommitOutcome {
  const isRace = (finding: Finding): boolean => finding.rule.startsWith('H')
  const inside = wanted.places.flatMap((place) =>
    bad
      .filter((finding) => isRace(finding) && isInside(finding, place))
      .map((finding) => ({ finding, place })),
  )
  const near = inside.filter(({ finding, place }) => isAt(finding, place))
  const hits = near.filter(({ finding }) => isReported(finding))
  const leftOf = ({ finding, place }: (typeof hits)[number]): Finding[] =>
    fixed.filter(
      (one) =>
        isReported(one) &&
        one.rule === finding.rule &&
        one.file === place.file &&
        hasName(one, rename(place.function)),
    )
  const silent = hits.filter((hit) => leftOf(hit).length === 0)
  const counted = silent.length > 0 ? silent : hits
  return {
    id: wanted.id,
    ...(wanted.class !== undefined && { class: wanted.class }),
    hit: hits.length > 0,
    isSilentWhenFixed: silent.length > 0,
    findings: counted.map(({ finding }) => brief(finding)),
    hitClasses: counted.map(({ finding }) => finding.class),
    notes: near.filter(({ finding }) => !isReported(finding)).map(({ finding }) => brief(finding)),
    elsewhere: inside.filter((one) => !near.includes(one)).map(({ finding }) => brief(finding)),
    left: hits.flatMap((hit) => leftOf(hit).map(brief)),
  }
}
