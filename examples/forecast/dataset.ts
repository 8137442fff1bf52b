/** From readings as they were taken to values at equal distances, with a report on what was done to them. */
import type { Upload } from './upload.ts'

export interface Quality {
  readonly format: string
  readonly readings: number
  readonly duplicates: number
  readonly impossible: number
  readonly unreadable: number
  readonly other: number
  /** Values that were put into short gaps. */
  readonly filled: number
  /** Long gaps: only what comes after the last one is used. */
  readonly gaps: number
}

export interface Dataset {
  /** Minutes from one value to the next. */
  readonly step: number
  readonly values: readonly number[]
  readonly quality: Quality
}

/** mg/dL: a sensor that shows less or more is broken, or the unit is another one. */
const possible = { least: 20, most: 600 }
/** Values that may be missing in a row and are put in by a straight line. */
const shortGap = 3

export const leastValues = 36

/** @throws a text for the client when too little is left. */
export function makeDataset({ format, readings, other, unreadable }: Upload): Dataset {
  const kept = readings.filter(({ value }) => value >= possible.least && value <= possible.most)
  const single = kept.filter(({ at }, i) => i === 0 || at !== kept[i - 1]!.at)
  const step = stepOf(single.map(({ at }) => at))
  let values: number[] = []
  let filled = 0
  let gaps = 0
  for (const [i, { at, value }] of single.entries()) {
    const before = single[i - 1]
    const missing = before === undefined ? 0 : Math.round((at - before.at) / step) - 1
    if (missing > shortGap) {
      gaps++
      values = []
    } else {
      for (let n = 1; n <= missing; n++) {
        values.push(before!.value + ((value - before!.value) * n) / (missing + 1))
        filled++
      }
    }
    values.push(value)
  }
  const quality: Quality = {
    format,
    readings: readings.length,
    duplicates: kept.length - single.length,
    impossible: readings.length - kept.length,
    unreadable,
    other,
    filled,
    gaps,
  }
  if (values.length < leastValues) {
    const after = gaps === 0 ? '' : ` after the last of ${gaps} long gaps`
    throw new Error(`expected at least ${leastValues} readings, got ${values.length}${after}.`)
  }
  return { step: step / 60_000, values, quality }
}

/** The usual distance: half of all are shorter, half are longer. */
function stepOf(times: readonly number[]): number {
  const distances = times.slice(1).map((at, i) => at - times[i]!)
  const middle = distances.toSorted((a, b) => a - b)[Math.floor(distances.length / 2)]
  return middle ?? 300_000
}
