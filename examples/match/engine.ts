/** A player: looks some moves ahead, values positions by two weights, and now and then moves without looking. */
import { houseLead, lead, moves, play, score, start, type Position } from './game.ts'

export interface Engine {
  /** Moves that it looks ahead. */
  readonly depth: number
  /** What a seed in an own house is worth, in hundredths of one in the store. */
  readonly house: number
}

/** Moves in a hundred that are made without looking: so that no two games are alike. */
const hasty = 10
/** Moves of the opening, which both games of a pair share. */
const opening = 4

/** Chance from a seed alone: the same game is played on every machine. Xorshift, 32 bits. */
function chance(seed: number): () => number {
  let state = (Math.imul(seed + 1, 0x9e3779b1) ^ 0x5bd1e995) >>> 0 || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    state >>>= 0
    return state / 2 ** 32
  }
}

function choose({ depth, house }: Engine, position: Position, random: () => number): number {
  const open = moves(position)
  const hurry = random() * 100 < hasty
  const pick = open[Math.floor(random() * open.length)]!
  if (hurry || open.length === 1) return pick
  const sign = position.turn === 0 ? 1 : -1
  let best = pick
  let bestValue = -Infinity
  for (const each of open) {
    const value = sign * look(play(position, each), depth - 1, house)
    if (value > bestValue) {
      best = each
      bestValue = value
    }
  }
  return best
}

/** The value for the first player. */
function look(position: Position, depth: number, house: number): number {
  const open = moves(position)
  if (open.length === 0) return 100 * score(position)
  if (depth <= 0) return 100 * lead(position) + house * houseLead(position)
  const values = open.map((each) => look(play(position, each), depth - 1, house))
  return position.turn === 0 ? Math.max(...values) : Math.min(...values)
}

export interface Game {
  /** The houses that were sown. */
  readonly moves: readonly number[]
  /** The result of the first player: 0 lost, 1 drawn, 2 won. */
  readonly result: 0 | 1 | 2
}

/** One game. The opening depends on `pair` only; `round` (0 or 1) distinguishes the two games of a pair. */
export function playGame(players: readonly [Engine, Engine], pair: number, round: number): Game {
  const openingChance = chance(pair)
  const random = chance(pair * 2 + round + 1_000_003)
  const made: number[] = []
  let position = start
  for (let open = moves(position); open.length > 0; open = moves(position)) {
    const isOpening = made.length < opening
    const house = isOpening
      ? open[Math.floor(openingChance() * open.length)]!
      : choose(players[position.turn]!, position, random)
    made.push(house)
    position = play(position, house)
  }
  const end = score(position)
  return { moves: made, result: end > 0 ? 2 : end < 0 ? 0 : 1 }
}

/** Both games of a pair, with the sides changed: points of the first engine in half points, 0 to 4. */
export function playPair(
  one: Engine,
  two: Engine,
  pair: number,
): { points: number; games: Game[] } {
  const there = playGame([one, two], pair, 0)
  const back = playGame([two, one], pair, 1)
  return { points: there.result + (2 - back.result), games: [there, back] }
}
