import type { Entrant, Row } from './row.ts'

/** Milliseconds. A child that has not ended by then is ended. */
export function childLimitOf({ limitMs = 120_000 }: Row): number {
  return limitMs
}

/** How much of a row one child plays. */
export interface Plan {
  readonly size: number
  readonly children: number
  readonly rounds: number
  readonly warmUps: number
  readonly warmUpSize: number
}

/** A quick run proves that everything works; its figures mean little. */
export function planOf(row: Row, entrant: Entrant, quick: boolean): Plan {
  const fullSize = entrant.size ?? row.size
  const size = quick ? Math.min(row.quickSize, fullSize) : fullSize
  return {
    size,
    children: quick ? 1 : (entrant.children ?? row.children),
    rounds: quick ? 1 : (entrant.rounds ?? row.rounds),
    warmUps: quick ? Math.min(1, row.warmUps) : row.warmUps,
    warmUpSize: Math.min(size, entrant.warmUpSize ?? row.warmUpSize),
  }
}
