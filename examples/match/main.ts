/**
 * Two engines of a small game, three workers, three campaigns: a test that stops when it is decided, a parameter that is tuned,
 * and a check of what was tuned. `npm run example:match`, less than a minute.
 */
import { pathToFileURL } from 'node:url'
import { playGames, testMatch, tuneHouse, type Elo, type Say } from './campaigns.ts'
import { LocalFleet } from './fleet.ts'

export interface MatchSizes {
  readonly workers: number
  /** Most pairs of the test. */
  readonly testPairs: number
  readonly tunePairs: number
  readonly games: number
}

const usual: MatchSizes = { workers: 3, testPairs: 20_000, tunePairs: 2_000, games: 2_000 }

export interface MatchReport {
  readonly test: Awaited<ReturnType<typeof testMatch>>
  readonly house: number
  readonly games: Awaited<ReturnType<typeof playGames>>
  /** How leases ended: nothing but `finished` and `campaign_ended`. */
  readonly closed: Readonly<Record<string, number>>
}

/** What a beginner thinks: seeds in houses are in danger. */
const doubtful = -60

export async function runExample(sizes: MatchSizes, say: Say): Promise<MatchReport> {
  await using fleet = await LocalFleet.start(sizes.workers)
  say(`${sizes.workers} workers, server ${fleet.server.url}`)

  say('\n1. Does looking 3 moves ahead beat 2?  SPRT between 0 and +20 (normalised Elo)')
  const engines = { one: { depth: 3, house: 10 }, two: { depth: 2, house: 10 } }
  const test = await testMatch(fleet, engines, sizes.testPairs, say)
  say(`  ${test.verdict} after ${test.pairs} pairs: Elo ${shown(test.elo)} (pentanomial)`)
  say(`  ${test.games} games are in the artifacts of the campaign`)

  say(`\n2. What is a seed in a house worth?  SPSA from ${doubtful}`)
  const house = await tuneHouse(fleet, { depth: 2, start: doubtful, pairs: sizes.tunePairs }, say)

  say(`\n3. Is ${house.toFixed(0)} better than ${doubtful}?`)
  const tuned = { one: { depth: 2, house }, two: { depth: 2, house: doubtful } }
  const games = await playGames(fleet, tuned, sizes.games)
  say(`  losses, draws, wins ${games.total.join(' ')}: Elo ${shown(games.elo)} (trinomial)`)
  const { closed } = await fleet.get<Pick<MatchReport, 'closed'>>('/fleet/summary')
  return { test, house, games, closed }
}

function shown({ elo, error }: Elo): string {
  return `${elo >= 0 ? '+' : ''}${elo.toFixed(1)} ± ${error.toFixed(1)}`
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await runExample(usual, (line) => console.log(line))
}
