/**
 * How the steps of a pattern grow with its input: measured on the step counting matcher, judged by
 * ratios of differences, which take the constant and (for the second ratio) the linear part out.
 */
import type { Candidate } from './ambiguity.ts'
import { StepMatcher } from './matcher.ts'
import type { ParsedPattern } from './tree.ts'

/** An input that shows it: `prefix + pump × n + suffix`. */
export interface AttackString {
  readonly prefix: string
  readonly pump: string
  readonly suffix: string
}

/** One run is stopped here: beyond it nothing new is learned. */
const maxStepsOfRun = 200_000
const doublings = [8, 16, 32, 64]
/** Repetitions up to which doubling is distinguished from a power. */
const lastRepetition = 22
/** No power that people write comes to `maxStepsOfRun` on a text as short as this. */
const shortText = 20
/**
 * Lower bound for the ratio of neighbouring differences. A doubling word gives 2 or more, Fibonacci
 * growth gives 1.6.
 */
const exponentialRatio = 1.5
/**
 * Lower bound for the ratio of differences at doubled input. Linear gives 2, quadratic 4, cubic 8.
 */
const quadraticRatio = 3

export class GrowthMeasure {
  readonly #matcher: StepMatcher
  readonly #isSearch: boolean
  #stepsLeft: number

  constructor(pattern: ParsedPattern, isSearch: boolean, maxSteps: number) {
    this.#matcher = new StepMatcher(pattern)
    this.#isSearch = isSearch
    this.#stepsLeft = maxSteps
  }

  get isExhausted(): boolean {
    return this.#stepsLeft <= 0
  }

  /** 1 for linear, 2 for quadratic, Infinity for exponential. */
  degreeOf(attack: AttackString, expected: Candidate['kind']): number {
    if (expected === 'exponential' && this.#isExponential(attack)) return Infinity
    const counts: number[] = []
    for (const times of doublings) {
      const steps = this.#run(attack, times)
      if (steps === undefined) break
      counts.push(steps)
      // Every ratio has to show it, so the longest text is not run when the first does not.
      if (counts.length === 3 && !(growthOf(counts) >= quadraticRatio)) return 1
    }
    if (counts.length < doublings.length - 1) return 1
    const growth = growthOf(counts)
    return growth >= quadraticRatio ? Math.round(Math.log2(growth)) : 1
  }

  #isExponential(attack: AttackString): boolean {
    const counts: number[] = []
    for (let times = 0; times <= lastRepetition; times += 1) {
      const steps = this.#run(attack, times)
      if (steps === undefined) {
        if (lengthOf(attack, times) <= shortText && !this.isExhausted) return true
        break
      }
      counts.push(steps)
    }
    const ratios = ratiosOf(differencesOf(counts))
    const [early, late] = [ratios.at(-3), ratios.at(-1)]
    // The ratios of a power sink towards 1, those of doubling do not.
    return (
      early !== undefined && late !== undefined && late >= exponentialRatio && late >= 0.93 * early
    )
  }

  /** Its steps; undefined when it was stopped. */
  #run({ prefix, pump, suffix }: AttackString, times: number): number | undefined {
    if (this.isExhausted) return undefined
    const text = prefix + pump.repeat(times) + suffix
    const result = this.#matcher.exec(text, { maxSteps: maxStepsOfRun, isSearch: this.#isSearch })
    this.#stepsLeft -= result.steps
    return result.isCut ? undefined : result.steps
  }
}

/** The smallest ratio: steps that depend on divisors or on luck do not grow evenly. */
const growthOf = (counts: readonly number[]): number => Math.min(...ratiosOf(differencesOf(counts)))

const differencesOf = (values: readonly number[]): readonly number[] =>
  values.slice(1).map((value, i) => value - (values[i] as number))

const ratiosOf = (values: readonly number[]): readonly number[] =>
  values.slice(1).map((value, i) => value / (values[i] as number))

function lengthOf({ prefix, pump, suffix }: AttackString, times: number): number {
  return prefix.length + pump.length * times + suffix.length
}
