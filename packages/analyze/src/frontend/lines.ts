/** A position as editors count it: both start at 1, columns count UTF-16 units. */
export interface Position {
  readonly line: number
  readonly column: number
}

/** Ends of lines as JavaScript and its editors count them. */
const lineEnd = /\r\n|[\n\r\u2028\u2029]/g
const lonelyReturn = /\r(?!\n)/

/** Offsets at which lines begin; the first is 0. */
export function lineStarts(text: string): Uint32Array {
  const starts = [0]
  if (hasRareEnds(text)) {
    for (const match of text.matchAll(lineEnd)) starts.push(match.index + match[0].length)
  } else {
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1))
      starts.push(at + 1)
  }
  return Uint32Array.from(starts)
}

/** How many lines it has, as `lineStarts` counts them. */
export function countLines(text: string): number {
  if (hasRareEnds(text)) return lineStarts(text).length
  let count = 1
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1
  return count
}

/** Looked for one by one: each is found, or not, faster than a pattern finds any. */
function hasRareEnds(text: string): boolean {
  if (text.includes('\u2028') || text.includes('\u2029')) return true
  return text.includes('\r') && lonelyReturn.test(text)
}

/** Offsets outside the text are taken to its nearest end. */
export function positionIn(starts: Uint32Array, offset: number): Position {
  let low = 0
  let high = starts.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((starts[middle] ?? 0) <= offset) low = middle
    else high = middle - 1
  }
  return { line: low + 1, column: Math.max(0, offset - (starts[low] ?? 0)) + 1 }
}
