/**
 * Whether a regular expression can take super-linear time, with an input that shows it.
 *
 * The automaton proposes (ambiguity.ts), the step counting matcher disposes: a verdict other than
 * `linear` is only given when the steps on `prefix + pump × n + suffix` were seen to grow. So a
 * report is never about a pattern that merely looks dangerous.
 *
 * Known limits: loops inside lookbehinds are passed over; classes that hold strings (`v`) are
 * `unknown`; an input that needs two different pumps at once is not found.
 */
import { AmbiguitySearch, OutOfBudget } from './ambiguity.ts'
import { buildAutomaton } from './automaton.ts'
import type { Automaton } from './automaton.ts'
import { contains } from './charset.ts'
import { GrowthMeasure } from './growth.ts'
import type { AttackString } from './growth.ts'
import { shapeOf } from './shape.ts'
import { UnsupportedPattern } from './tree.ts'
import type { ParsedPattern } from './tree.ts'

export type RegExpVerdict =
  | { readonly kind: 'linear' }
  | { readonly kind: 'unknown'; readonly reason: string }
  | {
      readonly kind: 'exponential' | 'polynomial'
      /** 2 is quadratic. Infinity for exponential. */
      readonly degree: number
      /** Only because a search tries every start: `/\s+$/`. An anchor would make it linear. */
      readonly isBySearch: boolean
      readonly attack: AttackString
    }

/** Product states that are visited for one pattern. */
const searchBudget = 60_000
/** Candidates that are tried on the matcher, and the steps it may take for one pattern. */
const maxCandidates = 16
const maxStepsOfPattern = 1_500_000

const control = /[\0-\x1f\x7f\u2028\u2029]/

const verdicts = new Map<string, RegExpVerdict>()
const maxKept = 10_000

export interface VerdictOptions {
  /** The input never holds line ends and other control characters: a line of a request. */
  readonly withoutControl?: boolean
  /** Asks only for patterns that are slow wherever they start. */
  readonly withoutSearch?: boolean
}

export function regExpVerdict(
  source: string,
  flags: string,
  options: VerdictOptions = {},
): RegExpVerdict {
  const { withoutControl = false, withoutSearch = false } = options
  const key = `/${source}/${flags} ${Number(withoutControl)}${Number(withoutSearch)}`
  const known = verdicts.get(key)
  if (known !== undefined) return known
  const verdict = judge(source, flags, { withoutControl, withoutSearch })
  if (verdicts.size >= maxKept) verdicts.clear()
  verdicts.set(key, verdict)
  return verdict
}

const linear: RegExpVerdict = { kind: 'linear' }

function judge(
  source: string,
  flags: string,
  { withoutControl, withoutSearch }: Required<VerdictOptions>,
): RegExpVerdict {
  const shape = shapeOf(source, flags)
  if (shape instanceof UnsupportedPattern) return { kind: 'unknown', reason: shape.message }
  const { pattern, isEndless, isOneWay, isOneAttempt } = shape
  if (!isEndless) return linear
  try {
    const matched = isOneWay ? linear : judgeFrom(pattern, false, withoutControl)
    if (matched.kind !== 'linear' || isOneAttempt || withoutSearch) return matched
    return judgeFrom(pattern, true, withoutControl)
  } catch (error) {
    // Sets are made when they are needed, and some cannot be.
    if (error instanceof UnsupportedPattern) return { kind: 'unknown', reason: error.message }
    throw error
  }
}

function judgeFrom(
  pattern: ParsedPattern,
  isSearch: boolean,
  withoutControl: boolean,
): RegExpVerdict {
  const automaton = buildAutomaton(pattern, isSearch)
  const search = new AmbiguitySearch(automaton, searchBudget)
  // Most patterns have no candidate, and need nothing to try it with.
  let trial: Trial | undefined
  let tried = 0
  try {
    for (const { kind, prefix, pump } of search.candidates()) {
      trial ??= trialOf(pattern, automaton, isSearch)
      const { measure, outside, suffixes } = trial
      // A search may have to be kept from matching at the very start: `/^\s+|\s+$/`.
      for (const lead of isSearch ? ['', outside] : ['']) {
        for (const suffix of suffixes) {
          const attack = { prefix: lead + prefix, pump, suffix }
          if (withoutControl && control.test(attack.prefix + pump + suffix)) continue
          const degree = measure.degreeOf(attack, kind)
          if (degree < 2) continue
          const found = degree === Infinity ? 'exponential' : 'polynomial'
          return { kind: found, degree, isBySearch: isSearch, attack }
        }
      }
      tried += 1
      if (tried >= maxCandidates || measure.isExhausted) break
    }
  } catch (error) {
    if (error instanceof OutOfBudget) return { kind: 'unknown', reason: 'too large' }
    throw error
  }
  return linear
}

interface Trial {
  readonly measure: GrowthMeasure
  readonly outside: string
  readonly suffixes: readonly string[]
}

function trialOf(pattern: ParsedPattern, automaton: Automaton, isSearch: boolean): Trial {
  const measure = new GrowthMeasure(pattern, isSearch, maxStepsOfPattern)
  const outside = outsideOf(automaton)
  return { measure, outside, suffixes: suffixesFor(automaton, outside) }
}

/** A character that as few sets as possible match. */
function outsideOf({ alphabet, reads }: Automaton): string {
  const fallbacks = ['!', 'z', '\u{fffd}', '\0', '\n']
  const letters = alphabet.samples.map((value) => String.fromCodePoint(value))
  let best = ''
  let fewest = Infinity
  for (const text of [...fallbacks, ...letters]) {
    const matching = reads.filter((set) => contains(set, text.charCodeAt(0))).length
    if (matching >= fewest) continue
    best = text
    fewest = matching
  }
  return best
}

/** Endings that may make a match fail after the pump: nothing, and one letter of each kind. */
function suffixesFor({ alphabet }: Automaton, outside: string): readonly string[] {
  const letters = alphabet.samples.map((value) => String.fromCodePoint(value))
  return [...new Set(['', outside, '\n', ...letters.toReversed().slice(0, 8)])]
}

/** For a report: `"a" + "_" × n + "\n"`. */
export function attackText({ prefix, pump, suffix }: AttackString): string {
  const parts = [`${JSON.stringify(pump)} repeated`]
  if (prefix !== '') parts.unshift(JSON.stringify(prefix))
  if (suffix !== '') parts.push(JSON.stringify(suffix))
  return parts.join(' + ')
}
