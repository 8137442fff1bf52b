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
import { parsePattern, UnsupportedPattern } from './tree.ts'
import type { ParsedPattern, RegExpTree } from './tree.ts'

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

/** Product states that are looked at for one pattern. */
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
  /** Only what is slow wherever it starts is asked for. */
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

function judge(
  source: string,
  flags: string,
  { withoutControl, withoutSearch }: Required<VerdictOptions>,
): RegExpVerdict {
  let pattern: ParsedPattern
  try {
    pattern = parsePattern(source, flags)
    if (!hasEndlessLoop(pattern.tree)) return { kind: 'linear' }
    const matched = judgeFrom(pattern, false, withoutControl)
    if (matched.kind !== 'linear' || pattern.isSticky || withoutSearch) return matched
    return judgeFrom(pattern, true, withoutControl)
  } catch (error) {
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
  const measure = new GrowthMeasure(pattern, isSearch, maxStepsOfPattern)
  const outside = outsideOf(automaton)
  const suffixes = suffixesFor(automaton, outside)
  const search = new AmbiguitySearch(automaton, searchBudget)
  let tried = 0
  try {
    for (const { kind, prefix, pump } of search.candidates()) {
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
  return { kind: 'linear' }
}

/** A character that as few sets as possible match. */
function outsideOf({ alphabet, reads }: Automaton): string {
  const fallbacks = ['!', 'z', '\u{fffd}', '\0', '\n']
  const rank = (text: string): number =>
    reads.filter((set) => contains(set, text.charCodeAt(0))).length
  const letters = alphabet.samples.map((value) => String.fromCodePoint(value))
  return [...fallbacks, ...letters].toSorted((a, b) => rank(a) - rank(b))[0] as string
}

/** Endings that may make a match fail after the pump: nothing, and one letter of each kind. */
function suffixesFor({ alphabet }: Automaton, outside: string): readonly string[] {
  const letters = alphabet.samples.map((value) => String.fromCodePoint(value))
  return [...new Set(['', outside, '\n', ...letters.toReversed().slice(0, 8)])]
}

function hasEndlessLoop(tree: RegExpTree): boolean {
  switch (tree.kind) {
    case 'loop':
      return tree.max === Infinity || hasEndlessLoop(tree.body)
    case 'sequence':
      return tree.parts.some(hasEndlessLoop)
    case 'choice':
      return tree.choices.some(hasEndlessLoop)
    case 'group':
    case 'look':
      return hasEndlessLoop(tree.body)
    case 'set':
    case 'edge':
    case 'word':
    case 'back':
      return false
  }
}

/** For a report: `"a" + "_" × n + "\n"`. */
export function attackText({ prefix, pump, suffix }: AttackString): string {
  const parts = [`${JSON.stringify(pump)} repeated`]
  if (prefix !== '') parts.unshift(JSON.stringify(prefix))
  if (suffix !== '') parts.push(JSON.stringify(suffix))
  return parts.join(' + ')
}
