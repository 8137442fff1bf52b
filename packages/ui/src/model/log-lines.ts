/**
 * The lines of a log that a tab keeps: the newest, bounded in number and in characters, whatever a job writes.
 *
 * Invariants, quoted by the tests:
 *  G1  The lines that are kept are the newest, in order, and the newest of all is always kept.
 *  G2  Never more than `most.lines` lines, nor more than `most.characters` beyond the newest line.
 *  G3  `dropped` and the lines that are kept are together all that was added.
 */
import type { LogPage } from '../api/contract.ts'

export type LogLine = LogPage['lines'][number]

export interface LogLines {
  readonly lines: readonly LogLine[]
  /** Older lines that were there. */
  readonly dropped: number
}

export const noLines: LogLines = { lines: [], dropped: 0 }

const mostKept = { lines: 10_000, characters: 16_000_000 }

export function addLines(
  { lines, dropped }: LogLines,
  added: readonly LogLine[],
  most: typeof mostKept = mostKept,
): LogLines {
  if (added.length === 0) return { lines, dropped }
  const all = [...lines, ...added]
  let first = all.length - 1
  let characters = 0
  while (first > 0 && all.length - first < most.lines) {
    characters += all[first - 1]!.text.length
    if (characters > most.characters) break
    first--
  }
  return { lines: all.slice(first), dropped: dropped + first }
}
