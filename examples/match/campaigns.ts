/** The three campaigns of the example, and what they showed. */
import { setTimeout } from 'node:timers/promises'
import type { Engine } from './engine.ts'
import type { LocalFleet } from './fleet.ts'

export interface Elo {
  readonly elo: number
  /** Half of the 95 % interval. */
  readonly error: number
}

interface Campaign {
  readonly id: string
  readonly phase: 'running' | 'paused' | 'ended'
  readonly ended?: { readonly why: string; readonly detail: string }
  readonly units: number
  readonly done: number
  readonly total: readonly number[]
  readonly workers: number
  readonly units_per_second: number
}

interface Stats {
  readonly campaign: Campaign
  readonly rule: { readonly llr?: number; readonly lower?: number; readonly upper?: number }
  readonly proposal?: { readonly parameters: readonly { readonly value: number }[] }
}

export type Say = (line: string) => void

export interface TestResult {
  readonly verdict: string
  readonly why: string
  readonly pairs: number
  readonly total: readonly number[]
  readonly elo: Elo
  /** Games in the artifacts of the campaign: those that were counted, and perhaps some that came too late. */
  readonly games: number
}

/** Does `one` beat `two`? Pairs are played until the test is decided. */
export async function testMatch(
  fleet: LocalFleet,
  engines: { readonly one: Engine; readonly two: Engine },
  pairs: number,
  say: Say,
): Promise<TestResult> {
  const { id } = await fleet.post<Campaign>('/campaigns', {
    name: 'match',
    job: 'match',
    units: pairs,
    batch: 10,
    input: engines,
    rule: { kind: 'sprt', elo0: 0, elo1: 20, model: 'normalized' },
    lease_ms: 2_000,
  })
  const { campaign } = await follow(fleet, id, ({ campaign: now, rule }) => {
    const llr = (rule.llr ?? 0).toFixed(2).padStart(6)
    say(`  ${counts(now)}   llr ${llr}   ${now.workers} workers`)
  })
  const elo = await estimate(fleet, campaign.total)
  const { why = '', detail: verdict = '' } = campaign.ended ?? {}
  const games = await countGames(fleet, id)
  return { verdict, why, pairs: campaign.done, total: campaign.total, elo, games }
}

/** Looks for the best worth of a seed in a house. */
export async function tuneHouse(
  fleet: LocalFleet,
  options: { readonly depth: number; readonly start: number; readonly pairs: number },
  say: Say,
): Promise<number> {
  const { id } = await fleet.post<Campaign>('/campaigns', {
    name: 'tune',
    job: 'tune',
    units: options.pairs,
    batch: 4,
    input: { depth: options.depth },
    outcomes: ['0', '½', '1', '1½', '2'],
    proposal: {
      kind: 'spsa',
      parameters: [
        { name: 'house', start: options.start, min: -100, max: 200, c_end: 20, r_end: 0.05 },
      ],
    },
    lease_ms: 2_000,
  })
  const valueOf = ({ proposal }: Stats): number => proposal?.parameters[0]?.value ?? options.start
  let last = options.start
  const ended = await follow(fleet, id, (stats) => {
    last = valueOf(stats)
    say(`  ${counts(stats.campaign)}   house ${last.toFixed(1)}`)
  })
  return ended.proposal === undefined ? last : valueOf(ended)
}

/** Single games: losses, draws and wins of `one`. */
export async function playGames(
  fleet: LocalFleet,
  engines: { readonly one: Engine; readonly two: Engine },
  games: number,
): Promise<{ total: readonly number[]; elo: Elo }> {
  const { id } = await fleet.post<Campaign>('/campaigns', {
    name: 'games',
    job: 'games',
    units: games,
    batch: 20,
    input: engines,
    outcomes: ['L', 'D', 'W'],
    lease_ms: 2_000,
  })
  const { campaign } = await follow(fleet, id, () => undefined)
  return { total: campaign.total, elo: await estimate(fleet, campaign.total) }
}

/** A line is a game. */
async function countGames(fleet: LocalFleet, campaign: string): Promise<number> {
  const { artifacts } = await fleet.get<{ artifacts: readonly { name: string }[] }>(
    `/artifacts/${campaign}`,
  )
  let games = 0
  for (const { name } of artifacts) {
    const response = await fetch(`${fleet.server.url}/artifacts/${campaign}/${name}`)
    games += (await response.text()).trimEnd().split('\n').length
  }
  return games
}

function estimate(fleet: LocalFleet, results: readonly number[]): Promise<Elo> {
  return fleet.post<Elo>('/stats/calc', { results })
}

/** Asks for a campaign until it has ended, and shows how it changes, about once a second. */
async function follow(fleet: LocalFleet, id: string, show: (stats: Stats) => void): Promise<Stats> {
  let shownDone = -1
  for (let round = 0; ; round++) {
    const stats = await fleet.get<Stats>(`/campaigns/${id}/stats`)
    const { phase, done } = stats.campaign
    const isDue = round % 10 === 0 && done !== shownDone
    if (isDue || phase === 'ended') {
      shownDone = done
      show(stats)
    }
    if (phase === 'ended') return stats
    await setTimeout(100)
  }
}

function counts({ done, units, total, units_per_second: rate }: Campaign): string {
  const width = String(units).length
  return `${String(done).padStart(width)} of ${units}  [${total.join(' ')}]  ${Math.round(rate)}/s`
}
