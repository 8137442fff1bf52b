/**
 * Counts of several runs of one program, added up in a file. Each run appends one line of JSON, so that two runs beside each
 * other can name the same file and neither loses the counts of the other.
 */
import { appendFileSync, readFileSync } from 'node:fs'

/** Numbers are added, lists are joined. */
export type Counts = Readonly<Record<string, number | readonly number[]>>

export type Tally<T extends Counts> = { readonly runs: number } & {
  readonly [K in keyof T]: T[K] extends number ? number : readonly number[]
}

/** Appends a run to the file. Returns the sum of all runs in it. */
export function addToTally<T extends Counts>(file: string, run: T): Tally<T> {
  appendFileSync(file, `${JSON.stringify({ runs: 1, ...run })}\n`)
  const sum: Record<string, number | readonly number[]> = {}
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    if (line === '') continue
    for (const [name, value] of Object.entries(JSON.parse(line) as Counts)) {
      sum[name] = add(sum[name], value)
    }
  }
  return sum as Tally<T>
}

function add(
  sum: number | readonly number[] | undefined,
  value: number | readonly number[],
): number | readonly number[] {
  if (typeof value === 'number') return typeof sum === 'number' ? sum + value : value
  return [...(Array.isArray(sum) ? (sum as readonly number[]) : []), ...value]
}
