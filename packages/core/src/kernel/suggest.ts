/** How many single-character edits turn `a` into `b` (neighbours swapped count as one). */
function distance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let best = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        best = Math.min(best, beforeLast[j - 2]! + 1)
      }
      row.push(best)
    }
    beforeLast = last
    last = row
  }
  return last[b.length]!
}

/** Names compared before giving up: a suggestion is a courtesy and must not cost a loop gap. */
const longestSearch = 2_000

/** The known name that was probably meant, if one is near enough. */
export function suggest(wrong: string, known: Iterable<string>): string | undefined {
  let best: string | undefined
  // Any two names of one or two letters are near each other.
  if (wrong.length < 3) return undefined
  let bestDistance = Math.floor(wrong.length / 3) + 1
  let looked = 0
  for (const name of known) {
    if (++looked > longestSearch) break
    if (Math.abs(name.length - wrong.length) >= bestDistance) continue
    const d = distance(wrong.toLowerCase(), name.toLowerCase())
    if (d < bestDistance) {
      best = name
      bestDistance = d
    }
  }
  return best
}
