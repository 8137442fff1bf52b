/**
 * The alphabet of a pattern: characters that no set of it distinguishes are one letter. Sets become
 * bit masks over the letters, so that "can one character be read by all of these" is an AND.
 */
import { contains, rangesOf } from './charset.ts'
import type { CharSet } from './charset.ts'

export interface Partition {
  readonly letters: number
  /** Indexed by set, in the given order: its letters, 32 to a word. */
  readonly masks: readonly Uint32Array[]
  /** Indexed by letter: a readable character of it. */
  readonly samples: readonly number[]
}

/** The characters that are best for readers of a report, best first. */
const readable = Array.from('a0A_- .,:;/<>"\'=(){}[]+*&#@!?%$^~|\\`\t\n\r', (text) =>
  text.charCodeAt(0),
)

const lastReadable = Math.max(...readable)

export function partition(sets: readonly CharSet[]): Partition {
  const cuts = new Set<number>([0])
  for (const set of sets) {
    for (const [first, last] of rangesOf(set)) {
      cuts.add(first)
      cuts.add(last + 1)
    }
  }
  const starts = [...cuts].toSorted((a, b) => a - b)
  const letterBySignature = new Map<string, number>()
  const samples: number[] = []
  const members: number[][] = []
  starts.forEach((start, i) => {
    const inside = sets.flatMap((set, index) => (contains(set, start) ? [index] : []))
    if (inside.length === 0) return
    const signature = inside.join()
    const known = letterBySignature.get(signature)
    const end = (starts[i + 1] ?? start + 1) - 1
    const best = bestIn(start, end)
    if (known === undefined) {
      letterBySignature.set(signature, samples.length)
      samples.push(best)
      members.push(inside)
    } else if (readability(best) < readability(samples[known] as number)) {
      samples[known] = best
    }
  })
  const masks = sets.map(() => new Uint32Array(Math.ceil(samples.length / 32) || 1))
  members.forEach((inside, letter) => {
    for (const index of inside) {
      const mask = masks[index] as Uint32Array
      mask[letter >> 5] = (mask[letter >> 5] as number) | (1 << (letter & 31))
    }
  })
  return { letters: samples.length, masks, samples }
}

function bestIn(first: number, last: number): number {
  if (first > lastReadable) return first
  return readable.find((value) => value >= first && value <= last) ?? first
}

function readability(value: number): number {
  const index = readable.indexOf(value)
  return index < 0 ? readable.length : index
}

/** A letter that is in all of the masks, or -1. */
export function commonLetter(masks: readonly Uint32Array[]): number {
  const words = (masks[0] as Uint32Array).length
  let best = -1
  for (let word = 0; word < words; word += 1) {
    let bits = ~0
    for (const mask of masks) bits &= mask[word] as number
    if (bits !== 0 && best < 0) best = 32 * word + (31 - Math.clz32(bits & -bits))
  }
  return best
}
