/** The normal distribution, to the precision of a double. */

/** The 97.5 % quantile. */
export const quantile975 = 1.959963984540054

const rootTwo = Math.SQRT2
const twoOverRootPi = 2 / Math.sqrt(Math.PI)

/** The probability that a standard normal value is below `z`. */
export function normalCdf(z: number): number {
  return erfc(-z / rootTwo) / 2
}

/** 1 − erf(x), with full relative precision where it is tiny. */
function erfc(x: number): number {
  if (x < 0) return 2 - erfc(-x)
  return x < 2 ? 1 - erfSeries(x) : erfcFraction(x)
}

/** The series of Abramowitz and Stegun 7.1.6: all terms are positive, so nothing cancels. */
function erfSeries(x: number): number {
  let term = x
  let sum = x
  for (let n = 1; term > sum * 1e-17; n++) {
    term *= (2 * x * x) / (2 * n + 1)
    sum += term
  }
  return twoOverRootPi * Math.exp(-x * x) * sum
}

/** The continued fraction of Abramowitz and Stegun 7.1.14, from the far end. */
function erfcFraction(x: number): number {
  if (x > 27) return 0
  let fraction = x
  for (let n = 200; n >= 1; n--) fraction = x + n / 2 / fraction
  return Math.exp(-x * x) / Math.sqrt(Math.PI) / fraction
}
