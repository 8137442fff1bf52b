/**
 * From milliseconds to columns.
 *
 *   time     0 ────── a    gap    b ─────────── length
 *   columns  0 ────── c ┊ c + 1 ────────────── columns
 *
 * A gap is a stretch in which nothing ran. One that would take more than its share of the width is
 * shortened to one column, so that a run that was resumed the next day is not two dots.
 *
 * Invariants, quoted by the tests:
 *  S1  columnOf() never goes back, and is between 0 and `columns`.
 *  S2  Each piece between gaps has at least one column; a gap has exactly one.
 */

export interface Gap extends Stretch {
  /** The column in which the gap is drawn. */
  readonly column: number
}

export interface Scale {
  readonly columns: number
  readonly gaps: readonly Gap[]
  /** The column of a time: 0 to `columns`, with a fraction. */
  columnOf(time: number): number
  /** The time at the left edge of a column. */
  timeOf(column: number): number
}

interface Piece {
  readonly from: number
  readonly to: number
  readonly column: number
  readonly columns: number
}

/** A stretch is shortened when it is longer than this share of all the time in which something ran. */
const longestShare = 0.15

export function makeScale(length: number, idle: readonly Stretch[], columns: number): Scale {
  const shortened = chooseGaps(length, idle, columns)
  const pieces = makePieces(length, shortened, columns)
  const gaps = shortened.map((stretch, i): Gap => {
    const before = pieces[i]!
    return { ...stretch, column: before.column + before.columns }
  })
  const last = pieces.at(-1)!
  return {
    columns,
    gaps,
    columnOf: (time) => {
      const piece = pieces.find(({ to }) => time <= to) ?? last
      if (time <= piece.from) return piece.column
      const part = Math.min(1, (time - piece.from) / (piece.to - piece.from))
      return piece.column + part * piece.columns
    },
    timeOf: (column) => {
      const piece = pieces.findLast((each) => each.column <= column) ?? pieces[0]!
      const part = Math.min(1, (column - piece.column) / piece.columns)
      return piece.from + part * (piece.to - piece.from)
    },
  }
}

/** Not the gaps at the ends: the time before the first start and after the last end is part of the run. */
function chooseGaps(length: number, idle: readonly Stretch[], columns: number): Stretch[] {
  const inside = idle.filter(({ from, to }) => from > 0 && to < length)
  const busy = length - idle.reduce((sum, { from, to }) => sum + to - from, 0)
  return inside
    .filter(({ from, to }) => to - from > busy * longestShare)
    .sort((a, b) => b.to - b.from - (a.to - a.from))
    .slice(0, Math.floor(columns / 5))
    .sort((a, b) => a.from - b.from)
}

/** Shares the columns between the pieces by their time, at least one for each. */
function makePieces(length: number, gaps: readonly Stretch[], columns: number): Piece[] {
  const starts = [0, ...gaps.map(({ to }) => to)]
  const ends = [...gaps.map(({ from }) => from), length]
  const times = starts.map((from, i) => ends[i]! - from)
  const total = times.reduce((sum, time) => sum + time, 0)
  const free = columns - gaps.length - times.length
  const pieces: Piece[] = []
  let timeSoFar = 0
  let column = 0
  for (const [i, from] of starts.entries()) {
    const before = share(timeSoFar, total, free)
    timeSoFar += times[i]!
    const own = 1 + share(timeSoFar, total, free) - before
    pieces.push({ from, to: ends[i]!, column, columns: own })
    column += own + 1
  }
  return pieces
}

function share(time: number, total: number, columns: number): number {
  return total === 0 ? 0 : Math.round((time / total) * columns)
}
import { type Stretch } from '@heddle/core/lowlevel'
