/** Whole numbers, as they are typed on the command line. */
import { InvalidArgumentError } from 'commander'

/** A whole number of at least `least`, or Infinity. */
export function parseCount(least: number): (text: string) => number {
  return (text) => {
    const n = text.trim() === '' ? NaN : Number(text)
    if (n === Infinity || (Number.isInteger(n) && n >= least)) return n
    throw new InvalidArgumentError(`Expected a whole number of at least ${least}, or Infinity.`)
  }
}

/** A whole number from `least` to `most`. */
export function parseWhole(least: number, most: number): (text: string) => number {
  return (text) => {
    const n = text.trim() === '' ? NaN : Number(text)
    if (Number.isInteger(n) && n >= least && n <= most) return n
    throw new InvalidArgumentError(`Expected a whole number from ${least} to ${most}.`)
  }
}
