import type { Journal, RunSnapshot, RunSummary } from '@heddle/core/lowlevel'

/** Earlier runs that are read: more would only blur later changes. */
const runsUsed = 3
/** Runs of other graphs that may be in between. */
const runsLookedAt = 50
/** Nodes that are read: the user waits for the start. 100,000 of them take two seconds. */
const nodesUsed = 30_000

/**
 * How long each node took in earlier runs of the same title: the median, in milliseconds.
 *
 * *Cancellation*: none; it reads a bounded number of runs.
 */
export async function earlierDurations(
  journal: Pick<Journal, 'runs' | 'snapshot'>,
  title: string,
): Promise<ReadonlyMap<string, number>> {
  const runs = await journal.runs({ limit: runsLookedAt })
  const same = runs.filter((run) => run.title === title && run.state === 'finished')
  const durations = new Map<string, number[]>()
  let room = nodesUsed
  for (const run of same.slice(0, runsUsed)) {
    room -= nodesOf(run)
    // This many nodes are enough for the average speed.
    if (room < 0) break
    collect(await journal.snapshot(run.id), durations)
  }
  return new Map(Array.from(durations, ([name, all]) => [name, median(all)]))
}

function nodesOf({ counts }: RunSummary): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}

function collect({ nodes }: RunSnapshot, durations: Map<string, number[]>): void {
  for (const { name, state, startedAt, endedAt } of nodes) {
    if (state !== 'succeeded' || startedAt === undefined || endedAt === undefined) continue
    const known = durations.get(name)
    if (known === undefined) durations.set(name, [endedAt - startedAt])
    else known.push(endedAt - startedAt)
  }
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) / 2)]!
}
