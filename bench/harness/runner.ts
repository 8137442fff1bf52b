import { planOf } from './plan.ts'
import type {
  ChildReport,
  Entrant,
  Measure,
  Observation,
  Role,
  Row,
  MeasuredRow,
  Suite,
  Surroundings,
} from './row.ts'
import { playInChild } from './spawn.ts'
import { best, median, ratioOf, round } from './statistics.ts'

export interface RunnerOptions {
  readonly quick: boolean
  readonly surroundings: Omit<Surroundings, keyof AsyncDisposable>
  /** Called before each child starts. */
  readonly onProgress: (line: string) => void
  /** Ends the child that plays; no other one is started. */
  readonly signal?: AbortSignal
}

/** Everything that the children of one entrant reported. */
interface Tally {
  readonly name: string
  readonly entrant: Entrant
  readonly reports: ChildReport[]
  /** Why it is not played. */
  readonly absent?: string
  error?: string
}

function isPlaying({ absent, error }: Tally): boolean {
  return absent === undefined && error === undefined
}

/**
 * Plays one row: every child is a fresh process, one at a time, ours and the peers in turn.
 *
 * Taking turns matters more than the number of repetitions: the machine's speed drifts over
 * seconds (neighbours, clock rate), and a drift between "all of ours" and "all of theirs" would
 * look like a difference between the libraries. The order rotates, so no library is always first.
 *
 * The result has one element for the row, and one for each of its other figures.
 */
export async function runRow(
  suite: Suite,
  row: Row,
  options: RunnerOptions,
): Promise<MeasuredRow[]> {
  const { environment, missing } = options.surroundings
  const tallies = Object.entries(row.entrants).map(([name, entrant]): Tally => {
    const reasons = (entrant.needs ?? []).map((need) => missing.get(need))
    const absent = reasons.find((reason) => reason !== undefined)
    return { name, entrant, reports: [], ...(absent !== undefined && { absent }) }
  })
  const turns = Math.max(
    ...tallies.map(({ entrant }) => planOf(row, entrant, options.quick).children),
  )
  for (let turn = 0; turn < turns; turn++) {
    const order = [
      ...tallies.slice(turn % tallies.length),
      ...tallies.slice(0, turn % tallies.length),
    ]
    for (const tally of order) {
      const { children } = planOf(row, tally.entrant, options.quick)
      if (turn >= children || !isPlaying(tally) || options.signal?.aborted === true) continue
      options.onProgress(`${row.name}: ${tally.name} (${turn + 1} of ${children})`)
      try {
        tally.reports.push(
          await playInChild(
            suite.name,
            row,
            tally.name,
            options.quick,
            environment,
            options.signal,
          ),
        )
      } catch (error) {
        tally.error = error instanceof Error ? error.message : String(error)
      }
    }
  }
  const notes = [
    ...(row.note === undefined ? [] : [row.note]),
    ...options.surroundings.notes,
    ...tallies.flatMap(notesOf),
  ]
  const own: Figure = { ...row, pick: ({ values }) => values }
  const others = (row.also ?? []).map(({ name, measure, unit }): Figure => ({
    name: `${row.name}: ${name}`,
    measure,
    unit,
    pick: ({ also }) => also[name] ?? [],
  }))
  return [own, ...others].map((figure) => summarize(row, figure, tallies, notes, options.quick))
}

/** One of the figures that the rounds of a row give. */
interface Figure {
  readonly name: string
  readonly measure: Measure
  readonly unit: string
  readonly pick: (report: ChildReport) => readonly number[]
}

function summarize(
  row: Row,
  { name, measure, unit, pick }: Figure,
  tallies: readonly Tally[],
  notes: readonly string[],
  quick: boolean,
): MeasuredRow {
  const better = measure === 'rate' ? 'more' : 'less'
  const valueOf = (tally: Tally) => over(tally, pick, median)
  const withRole = (role: Role) => tallies.filter(({ entrant }) => entrant.role === role)
  const table = (role: Role, figureOf: (tally: Tally) => number | null) =>
    Object.fromEntries(withRole(role).map((tally) => [tally.name, figureOf(tally)]))

  const ours = withRole('ours')[0]
  if (ours === undefined) throw new Error(`row ${row.name} has no entrant of ours`)
  const peers = table('peer', valueOf)
  const value = valueOf(ours)
  const rival = best(
    Object.values(peers).filter((peer) => peer !== null),
    better,
  )
  const build = buildOf(ours)
  const floorTally = withRole('floor')[0]
  const floor = floorTally === undefined ? null : valueOf(floorTally)
  const floorGap = floorTally === undefined ? null : gapOf(floorTally)
  const floorCollector = floorTally === undefined ? null : over(floorTally, collected, median)
  const observed = observedBy(tallies)
  return {
    name,
    ours: value,
    unit,
    peers,
    ratio: value === null || rival === undefined ? null : round(ratioOf(value, rival, better)),
    ...(floor !== null && { floor }),
    ...(floor !== null && value !== null && { floorRatio: round(ratioOf(value, floor, better)) }),
    ...(floorGap !== null && { floorLoopGapMs: floorGap }),
    ...(floorCollector !== null && { floorCollectorMs: floorCollector }),
    loopGapMs: gapOf(ours),
    loopGapWorstMs: over(ours, longestGaps, worst),
    loopGapOwnMs: over(ours, ownGaps, median),
    loopGapOwnWorstMs: over(ours, ownGaps, worst),
    collectorMs: over(ours, collected, median),
    rssMb: rssOf(ours),
    ...(build !== null && { buildMs: build }),
    size: planOf(row, ours.entrant, quick).size,
    better,
    variants: table('variant', valueOf),
    peerLoopGapMs: table('peer', gapOf),
    peerRssMb: table('peer', rssOf),
    peerBuildMs: present(table('peer', buildOf)),
    ...(Object.keys(observed).length > 0 && { observed }),
    notes,
  }
}

function present(values: Record<string, number | null>): Record<string, number> {
  return Object.fromEntries(Object.entries(values).filter((entry) => entry[1] !== null)) as Record<
    string,
    number
  >
}

function over(
  tally: Tally,
  pick: (report: ChildReport) => readonly number[],
  join: (values: readonly number[]) => number,
): number | null {
  const values = tally.reports.flatMap(pick)
  return !isPlaying(tally) || values.length === 0 ? null : round(join(values))
}

const longestGaps = ({ gaps }: ChildReport) => gaps.map(({ longest }) => longest)
const ownGaps = ({ gaps }: ChildReport) => gaps.map(({ own }) => own)
const collected = ({ gaps }: ChildReport) => gaps.map(({ collector }) => collector)
const worst = (values: readonly number[]) => Math.max(...values)
const gapOf = (tally: Tally) => over(tally, longestGaps, median)
const buildOf = (tally: Tally) => over(tally, ({ builds }) => builds, median)
const rssOf = (tally: Tally) =>
  over(tally, ({ rssMb }) => (rssMb === undefined ? [] : [rssMb]), median)

function observedBy(tallies: readonly Tally[]): Record<string, Observation> {
  const entries = tallies.flatMap(({ name, reports }) => {
    const observed = reports.at(-1)?.observed
    return observed === undefined ? [] : [[name, observed] as const]
  })
  return Object.fromEntries(entries)
}

function notesOf({ name, entrant, absent, error }: Tally): string[] {
  if (absent !== undefined) return [`${name} was not played: ${absent}`]
  const notes: string[] = []
  if (entrant.note !== undefined) notes.push(`${name}: ${entrant.note}`)
  if (error !== undefined) notes.push(`${name} failed: ${error}`)
  return notes
}
