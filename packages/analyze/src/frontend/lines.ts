/** A position as editors count it: both start at 1, columns count UTF-16 units. */
export interface Position {
  readonly line: number
  readonly column: number
}

/** Offsets at which lines begin, with a first line at 0. `\n`, `\r\n` and a lone `\r` end a line. */
export function lineStarts(text: string): Uint32Array {
  const starts = [0]
  if (hasLoneReturn(text)) {
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code === 10 || (code === 13 && text.charCodeAt(at + 1) !== 10)) starts.push(at + 1)
    }
  } else {
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  }
  return Uint32Array.from(starts)
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

function hasLoneReturn(text: string): boolean {
  for (let at = text.indexOf('\r'); at !== -1; at = text.indexOf('\r', at + 1)) {
    if (text.charCodeAt(at + 1) !== 10) return true
  }
  return false
}
