/** Random numbers that can be repeated: the only file that touches `Math.random`. */

/** A source of uniform numbers in [0, 1). Users may implement it. */
export interface Random {
  next(): number
}

/** The system's source; its numbers are not repeatable. */
export const systemRandom: Random = { next: () => Math.random() }

/**
 * Repeatable numbers from a seed (sfc32: 128 bits of state, passes PractRand, four additions a
 * draw). Not for secrets.
 */
export function seededRandom(seed: number): Random {
  let a = seed | 0
  let b = (seed / 2 ** 32) | 0
  let c = 0x9e3779b9 | 0
  let counter = 1
  const next = (): number => {
    const sum = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = ((c << 21) | (c >>> 11)) + sum
    return (sum >>> 0) / 2 ** 32
  }
  // The first draws of neighbouring seeds are alike: throw them away.
  for (let i = 0; i < 12; i++) next()
  return { next }
}
