/**
 * Simultaneous perturbation stochastic approximation: tunes parameters by matches between two versions of them, one
 * shifted by +c·flip and one by −c·flip, with random flips of +1 and −1.
 */
import { seededRandom } from '@heddle/core/lowlevel'

export interface SpsaParameter {
  readonly name: string
  readonly start: number
  readonly min: number
  readonly max: number
  /** The perturbation at the end. */
  readonly cEnd: number
  /** The learning rate at the end. */
  readonly rEnd: number
  /** Rounded up or down at random, in the same direction on both sides. */
  readonly integer?: boolean
}

export interface SpsaOptions {
  readonly parameters: readonly SpsaParameter[]
  /** Steps until the end. */
  readonly steps: number
  /** Default a tenth of the steps. */
  readonly stability?: number
  /** Default 0.602. */
  readonly alpha?: number
  /** Default 0.101. */
  readonly gamma?: number
}

/** One parameter for the two players of a step. */
export interface SpsaDraw {
  readonly name: string
  readonly plus: number
  readonly minus: number
}

interface Scale {
  readonly c: number
  /** R·c: how far one won game more moves the parameter. */
  readonly gain: number
}

export class Spsa {
  readonly #options: SpsaOptions
  #theta: number[]

  constructor(options: SpsaOptions, theta?: readonly number[]) {
    this.#options = options
    this.#theta = theta === undefined ? options.parameters.map(({ start }) => start) : [...theta]
  }

  get theta(): readonly number[] {
    return this.#theta
  }

  /** The values to try in step `step`; the same again for the same seed as long as nothing was learnt. */
  draw(step: number, seed: string): readonly SpsaDraw[] {
    return this.#options.parameters.map((parameter, index) => {
      const { c } = this.#scale(parameter, step)
      const [flip, u] = chance(seed, index)
      const side = (sign: number): number =>
        rounded(clip(this.#theta[index]! + sign * c * flip, parameter), parameter, u)
      return { name: parameter.name, plus: side(1), minus: side(-1) }
    })
  }

  /** Moves the parameters by the result of a step: wins of the first player minus its losses. */
  learn(step: number, seed: string, score: number): void {
    this.#theta = this.#options.parameters.map((parameter, index) => {
      const { gain } = this.#scale(parameter, step)
      const [flip] = chance(seed, index)
      return clip(this.#theta[index]! + gain * score * flip, parameter)
    })
  }

  #scale({ cEnd, rEnd, integer }: SpsaParameter, step: number): Scale {
    const { steps, stability = 0.1 * steps, alpha = 0.602, gamma = 0.101 } = this.#options
    const cAtStart = cEnd * steps ** gamma
    const aAtStart = rEnd * cEnd ** 2 * (stability + steps) ** alpha
    const raw = cAtStart / (step + 1) ** gamma
    const c = integer === true ? Math.max(raw, 0.5) : raw
    const r = aAtStart / (stability + step + 1) ** alpha / c ** 2
    return { c, gain: r * c }
  }
}

function clip(value: number, { min, max }: SpsaParameter): number {
  return Math.min(Math.max(value, min), max)
}

function rounded(value: number, parameter: SpsaParameter, u: number): number {
  return parameter.integer === true ? clip(Math.floor(value + u), parameter) : value
}

/** A flip and a number in [0, 1), fixed by the seed: nothing of a draw has to be kept. */
function chance(seed: string, index: number): readonly [flip: number, u: number] {
  let hash = 0x811c9dc5
  for (let at = 0; at < seed.length; at++) {
    hash = Math.imul(hash ^ seed.charCodeAt(at), 0x01000193)
  }
  const random = seededRandom((hash >>> 0) * 64 + index)
  return [random.next() < 0.5 ? -1 : 1, random.next()]
}
