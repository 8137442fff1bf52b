/**
 * Sets of characters, as sorted ranges: `[first, last, first, last, …]`, both ends included.
 *
 * The values are UTF-16 units for patterns without `u` and `v`, and code points with them.
 */

export type CharSet = readonly number[]

export const lastUnit = 0xffff
export const lastCodePoint = 0x10ffff

/** Ranges in any order, overlapping or not. */
export function charSet(ranges: readonly (readonly [number, number])[]): CharSet {
  const sorted = ranges.toSorted((a, b) => a[0] - b[0])
  const out: number[] = []
  for (const [first, last] of sorted) {
    const end = out.at(-1)
    if (end !== undefined && first <= end + 1) {
      if (last > end) out[out.length - 1] = last
    } else {
      out.push(first, last)
    }
  }
  return out
}

export function* rangesOf(set: CharSet): Generator<readonly [number, number]> {
  for (let i = 0; i < set.length; i += 2) yield [set[i] as number, set[i + 1] as number]
}

export function union(sets: readonly CharSet[]): CharSet {
  if (sets.length === 1) return sets[0] as CharSet
  const ranges: [number, number][] = []
  for (const set of sets) addRanges(ranges, set)
  return charSet(ranges)
}

function addRanges(ranges: [number, number][], set: CharSet): void {
  for (let i = 0; i < set.length; i += 2) ranges.push([set[i] as number, set[i + 1] as number])
}

export function complement(set: CharSet, last: number): CharSet {
  const out: number[] = []
  let next = 0
  for (let i = 0; i < set.length; i += 2) {
    const first = set[i] as number
    if (first > last) break
    if (first > next) out.push(next, first - 1)
    next = (set[i + 1] as number) + 1
  }
  if (next <= last) out.push(next, last)
  return out
}

export function intersection(a: CharSet, b: CharSet): CharSet {
  const out: number[] = []
  let i = 0
  let j = 0
  while (i < a.length && j < b.length) {
    const first = Math.max(a[i] as number, b[j] as number)
    const last = Math.min(a[i + 1] as number, b[j + 1] as number)
    if (first <= last) out.push(first, last)
    if ((a[i + 1] as number) < (b[j + 1] as number)) i += 2
    else j += 2
  }
  return out
}

export function contains(set: CharSet, value: number): boolean {
  let low = 0
  let high = set.length / 2 - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    if (value < (set[2 * middle] as number)) high = middle - 1
    else if (value > (set[2 * middle + 1] as number)) low = middle + 1
    else return true
  }
  return false
}

/** Characters below this are looked up in a table; nearly every text consists of them. */
export const tabled = 128

/** A table indexed by character below {@link tabled}: 1 when it is in the set. */
export function tableOf(set: CharSet): Uint8Array {
  const table = new Uint8Array(tabled)
  for (let i = 0; i < set.length && (set[i] as number) < tabled; i += 2) {
    table.fill(1, set[i], (set[i + 1] as number) + 1)
  }
  return table
}

const range = (first: string, last: string): readonly [number, number] => [
  first.charCodeAt(0),
  last.charCodeAt(0),
]

export const digits: CharSet = charSet([range('0', '9')])
export const wordCharacters: CharSet = charSet([
  range('0', '9'),
  range('A', 'Z'),
  range('_', '_'),
  range('a', 'z'),
])
export const lineEnds: CharSet = charSet([
  range('\n', '\n'),
  range('\r', '\r'),
  range('\u2028', '\u2029'),
])
export const spaces: CharSet = charSet([
  [9, 13],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
])

/**
 * Folds a character as a pattern with `i` does: to the upper-case form, where that is one unit
 * long.
 */
export function canonical(value: number): number {
  const text = String.fromCodePoint(value)
  const upper = text.toUpperCase()
  if (upper.length !== text.length) return value
  const code = upper.codePointAt(0) as number
  return value >= 128 && code < 128 ? value : code
}

/** Keyed by character: the other characters that `i` treats as equal, if there are any. */
let caseGroups: ReadonlyMap<number, readonly number[]> | undefined

function groupsByCase(): ReadonlyMap<number, readonly number[]> {
  if (caseGroups !== undefined) return caseGroups
  const groups = new Map<number, number[]>()
  for (let value = 0; value <= lastUnit; value += 1) {
    if (value >= 0xd800 && value <= 0xdfff) continue
    const upper = canonical(value)
    if (upper === value) continue
    const group = groups.get(upper) ?? [upper]
    group.push(value)
    groups.set(upper, group)
    groups.set(value, group)
  }
  caseGroups = groups
  return caseGroups
}

/** Adds the other-case characters that `i` lets the set match too. */
export function withBothCases(set: CharSet): CharSet {
  // No other character has the same upper-case form as an ASCII letter, so the large table is not needed.
  const isAscii = set.length === 0 || (set.at(-1) as number) < 128
  const added = isAscii ? otherAsciiCases(set) : otherCases(set)
  if (added.length === 0) return set
  addRanges(added, set)
  return charSet(added)
}

const bothAsciiCases: CharSet = charSet([range('A', 'Z'), range('a', 'z')])
const caseBit = 0x20

function otherAsciiCases(set: CharSet): [number, number][] {
  const added: [number, number][] = []
  const letters = intersection(set, bothAsciiCases)
  for (let i = 0; i < letters.length; i += 2) {
    added.push([(letters[i] as number) ^ caseBit, (letters[i + 1] as number) ^ caseBit])
  }
  return added
}

function otherCases(set: CharSet): [number, number][] {
  const groups = groupsByCase()
  const added: [number, number][] = []
  const add = (group: readonly number[] | undefined): void => {
    for (const value of group ?? []) added.push([value, value])
  }
  let size = 0
  for (const [first, last] of rangesOf(set)) size += last - first + 1
  if (size < groups.size) {
    for (const [first, last] of rangesOf(set)) {
      for (let value = first; value <= last; value += 1) add(groups.get(value))
    }
  } else {
    for (const [value, group] of groups) if (contains(set, value)) add(group)
  }
  return added
}
