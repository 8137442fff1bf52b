/**
 * Finds an entry by a few letters: `rgr` finds "Runs: graph".
 *
 * Invariants, quoted by the tests:
 *  M1  All letters of the query are in the text, in order; case does not count.
 *  M2  A match at the start of a word is better than one inside, one piece better than several, a short text better
 *      than a long one.
 *  M3  An empty query matches everything and changes no order.
 */
export interface Match<T> {
  readonly item: T
  /** Positions of the letters, for marking them. */
  readonly positions: readonly number[]
}

export function rank<T>(
  items: readonly T[],
  query: string,
  textOf: (item: T) => string,
  limit = 50,
): Match<T>[] {
  const wanted = query.trim().toLowerCase()
  if (wanted === '') return items.slice(0, limit).map((item) => ({ item, positions: [] }))
  const found: { match: Match<T>; score: number }[] = []
  for (const item of items) {
    const scored = score(textOf(item), wanted)
    if (scored !== undefined) {
      found.push({ match: { item, positions: scored.positions }, score: scored.score })
    }
  }
  found.sort((a, b) => b.score - a.score)
  return found.slice(0, limit).map(({ match }) => match)
}

function score(text: string, wanted: string): { score: number; positions: number[] } | undefined {
  const lower = text.toLowerCase()
  const whole = lower.indexOf(wanted)
  if (whole >= 0) {
    const positions = Array.from({ length: wanted.length }, (_, i) => whole + i)
    return { positions, score: 1_000 + (isWordStart(lower, whole) ? 500 : 0) - text.length }
  }
  // Starts of words first; where that leaves a letter without a place, any place will do (M1).
  return place(lower, wanted, nextWordStart) ?? place(lower, wanted, nextLetter)
}

type Next = (text: string, letter: string, from: number) => number

function place(
  text: string,
  wanted: string,
  nextOf: Next,
): { score: number; positions: number[] } | undefined {
  const positions: number[] = []
  let total = 0
  let at = -1
  for (const letter of wanted) {
    if (letter === ' ') continue
    const next = nextOf(text, letter, at + 1)
    if (next < 0) return undefined
    total += next === at + 1 ? 8 : isWordStart(text, next) ? 10 : 1
    positions.push(next)
    at = next
  }
  return { positions, score: total - text.length / 10 }
}

const nextLetter: Next = (text, letter, from) => text.indexOf(letter, from)

/** The next start of a word with this letter if there is one, else the next such letter. */
const nextWordStart: Next = (text, letter, from) => {
  const next = text.indexOf(letter, from)
  if (next < 0 || next === from) return next
  for (let at = next; at >= 0; at = text.indexOf(letter, at + 1)) {
    if (isWordStart(text, at)) return at
  }
  return next
}

function isWordStart(text: string, at: number): boolean {
  return at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1]!)
}
