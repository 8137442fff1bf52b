/**
 * The characters of a property, `\p{…}`, by what V8 says about a text that holds every character.
 *
 * Two thirds of all code points are in planes that hold nothing (4 to 13) or only private ones (15
 * and 16). There every property says the same about a whole plane, but for the two code points at its
 * end that are not characters. So of such a plane one of each sort is asked; a test compares that with
 * asking all of them, and would fail on a version of Unicode that uses one of these planes.
 */
import { charSet, lastCodePoint, lastUnit } from './charset.ts'
import type { CharSet } from './charset.ts'

const planeSize = 0x10000
/** The last two of a plane are not characters. */
const ofPlane = 0xfffe

const byProperty = new Map<string, CharSet>()
let asked: string | undefined

/** Asked once for each property. */
export function unicodeProperty(name: string): CharSet {
  let set = byProperty.get(name)
  if (set === undefined) {
    asked ??= askedText()
    set = matched(asked, name)
    byProperty.set(name, set)
  }
  return set
}

/**
 * From one run to the next. Both patterns stick to their place, because a search for the next character
 * of a property takes several times as long as passing over those that are not.
 */
function matched(text: string, name: string): CharSet {
  const inside = new RegExp(`\\p{${name}}+`, 'uy')
  const outside = new RegExp(`\\P{${name}}+`, 'uy')
  const ranges: [number, number][] = []
  for (let at = 0; at < text.length;) {
    const start = endOfRun(outside, text, at)
    at = endOfRun(inside, text, start)
    if (at === start) break
    const first = text.codePointAt(start) as number
    const last = lastMeant(before(text, at))
    // The text leaves out surrogates, so that one run may span the hole they leave.
    if (first < 0xd800 && last > 0xdfff) ranges.push([first, 0xd7ff], [0xe000, last])
    else ranges.push([first, last])
  }
  return charSet(ranges)
}

function endOfRun(run: RegExp, text: string, at: number): number {
  run.lastIndex = at
  return run.test(text) ? run.lastIndex : at
}

function before(text: string, end: number): number {
  const pair = text.codePointAt(Math.max(0, end - 2)) as number
  return pair > lastUnit ? pair : text.charCodeAt(end - 1)
}

/** Every character that is asked but surrogates, in order. */
function askedText(): string {
  const characters: number[] = []
  for (let plane = 0; plane <= lastCodePoint; plane += planeSize) {
    if (isUniform(plane)) {
      characters.push(plane, plane + ofPlane)
      continue
    }
    for (let one = plane; one < plane + planeSize; one += 1) {
      if (one < 0xd800 || one > 0xdfff) characters.push(one)
    }
  }
  return textOf(characters)
}

function isUniform(plane: number): boolean {
  const number = plane / planeSize
  return number >= 4 && number !== 14
}

/** The last of those that the answer about one character is about. */
function lastMeant(value: number): number {
  const rest = value % planeSize
  if (!isUniform(value - rest)) return value
  return value - rest + (rest === 0 ? ofPlane - 1 : planeSize - 1)
}

/** Works on code units: a string for each character would take as long as ten properties. */
function textOf(characters: readonly number[]): string {
  const units = new Uint16Array(2 * characters.length)
  let length = 0
  for (const value of characters) {
    if (value > lastUnit) {
      const rest = value - planeSize
      units[length] = 0xd800 + (rest >> 10)
      units[length + 1] = 0xdc00 + (rest & 0x3ff)
      length += 2
    } else {
      units[length] = value
      length += 1
    }
  }
  return Buffer.from(units.buffer, 0, 2 * length).toString('utf16le')
}
