/** What workers run. A unit is a pair of games with the same opening and changed sides. */
import { job } from '@heddle/core'
import type { CampaignUnits } from '@heddle/worker'
import { playGame, playPair, type Engine } from './engine.ts'

interface Match {
  readonly one: Engine
  readonly two: Engine
}

const module = import.meta.url

/** Counts of pairs by points: 0, ½, 1, 1½, 2. The games are left as an artifact of the campaign. */
export const match = job({ name: 'match', module }, async (units: CampaignUnits, { artifact }) => {
  const { one, two } = units.input as Match
  const counts = [0, 0, 0, 0, 0]
  const lines: string[] = []
  for (let pair = units.start; pair < units.start + units.count; pair++) {
    const { points, games: played } = playPair(one, two, pair)
    counts[points]!++
    for (const { moves, result } of played) lines.push(`${pair} ${result} ${moves.join('')}\n`)
  }
  await artifact(`games-${units.start}.txt`, lines)
  return counts
})

interface Draw {
  readonly name: string
  readonly plus: number
  readonly minus: number
}

/** Pairs between the two values of the parameters that the server proposes. */
export const tune = job({ name: 'tune', module }, (units: CampaignUnits) => {
  const { depth } = units.input as Pick<Engine, 'depth'>
  const house = (units.parameters as Draw[]).find(({ name }) => name === 'house')!
  const counts = [0, 0, 0, 0, 0]
  for (let pair = units.start; pair < units.start + units.count; pair++) {
    const { points } = playPair(
      { depth, house: house.plus },
      { depth, house: house.minus },
      // Other openings than those of the match.
      pair + 1_000_000,
    )
    counts[points]!++
  }
  return counts
})

/** Counts of single games of the first engine, which begins every second one: losses, draws, wins. */
export const games = job({ name: 'games', module }, (units: CampaignUnits) => {
  const { one, two } = units.input as Match
  const counts = [0, 0, 0]
  for (let unit = units.start; unit < units.start + units.count; unit++) {
    const pair = (unit >> 1) + 2_000_000
    if (unit % 2 === 0) counts[playGame([one, two], pair, 0).result]!++
    else counts[2 - playGame([two, one], pair, 1).result]!++
  }
  return counts
})
