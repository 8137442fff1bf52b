/**
 * Kalah with four houses on each side and three seeds in each. Houses 0 to 3 and store 4 belong to the first player, houses 5
 * to 8 and store 9 to the second. A move sows the seeds of one house; a last seed in the own store gives another turn, one in
 * an empty own house captures the seeds opposite.
 */

export interface Position {
  readonly seeds: readonly number[]
  /** 0 or 1. */
  readonly turn: number
}

const houses = 4
const stores = [4, 9] as const
const places = 10

export const start: Position = { seeds: [3, 3, 3, 3, 0, 3, 3, 3, 3, 0], turn: 0 }

/** Houses that the player may sow, counted from 0 on its own side. None: the game is over. */
export function moves({ seeds, turn }: Position): number[] {
  const found: number[] = []
  for (let house = 0; house < houses; house++) {
    if (seeds[first(turn) + house]! > 0) found.push(house)
  }
  return found
}

export function play(position: Position, house: number): Position {
  const { turn } = position
  const seeds = [...position.seeds]
  const own = stores[turn]!
  let at = first(turn) + house
  let left = seeds[at]!
  seeds[at] = 0
  while (left > 0) {
    at = (at + 1) % places
    if (at === stores[1 - turn]) continue
    seeds[at]!++
    left--
  }
  if (at === own) return { seeds, turn }
  const isOwnHouse = at >= first(turn) && at < own
  if (isOwnHouse && seeds[at] === 1) {
    const opposite = 2 * houses - at
    seeds[own]! += seeds[opposite]! + 1
    seeds[opposite] = 0
    seeds[at] = 0
  }
  return { seeds, turn: 1 - turn }
}

/** The lead of the first player when the game ends here: seeds in houses belong to their side. */
export function score({ seeds }: Position): number {
  let sum = 0
  for (const [place, count] of seeds.entries()) sum += place <= stores[0] ? count : -count
  return sum
}

/** Seeds in the stores, first minus second. */
export function lead({ seeds }: Position): number {
  return seeds[stores[0]]! - seeds[stores[1]]!
}

/** Seeds in the houses, first minus second. */
export function houseLead(position: Position): number {
  return score(position) - lead(position)
}

function first(turn: number): number {
  return turn === 0 ? 0 : houses + 1
}
