/**
 * Whether a name fits a pattern with `*` and `?`; alternatives are separated by `|`. Linear in the length of both for
 * one star, and never worse than their product: a pattern of a stranger cannot stall the loop.
 */
export function matches(pattern: string, name: string): boolean {
  return pattern.split('|').some((alternative) => matchesOne(alternative.trim(), name))
}

function matchesOne(pattern: string, name: string): boolean {
  let at = 0
  let inPattern = 0
  let star = -1
  let retryAt = 0
  while (at < name.length) {
    const wanted = pattern[inPattern]
    if (wanted === '*') {
      star = inPattern++
      retryAt = at
    } else if (wanted === '?' || wanted === name[at]) {
      at++
      inPattern++
    } else if (star >= 0) {
      inPattern = star + 1
      at = ++retryAt
    } else return false
  }
  while (pattern[inPattern] === '*') inPattern++
  return inPattern === pattern.length
}
