/** The findings of a run of faults: its problems, its counts for a tally, and lines for people. */
import type { Counts } from '../tally.ts'
import type { ClusterFaultsReport } from './cluster-faults.ts'

/** X1 to X4. */
export function problemsOf(report: ClusterFaultsReport): string[] {
  const { lost, wrong, openJobs, doubled, foreignWrites, outcomes, acknowledged } = report
  const { lateTakeOvers, answered } = report
  const promised = acknowledged - answered
  return [
    ...(lost > 0 ? [`${lost} acknowledged requests have no result`] : []),
    ...(wrong > 0 ? [`${wrong} results are wrong`] : []),
    ...(openJobs > 0 ? [`${openJobs} jobs have no outcome`] : []),
    ...(doubled > 0 ? [`${doubled} acknowledgements or outcomes were written twice`] : []),
    ...(foreignWrites > 0 ? [`${foreignWrites} rows were written to shards of other servers`] : []),
    ...(outcomes < promised ? [`${promised} promised, ${outcomes} outcomes`] : []),
    ...(lateTakeOvers > 0 ? [`${lateTakeOvers} take-overs took longer than 9 s`] : []),
  ]
}

/** The counts that are added up over runs: `failed` counts the runs with a problem. */
export function countsOf(seed: number, seconds: number, report: ClusterFaultsReport) {
  const { counts, ...rest } = report
  return {
    seeds: [seed],
    failed: problemsOf(report).length === 0 ? 0 : 1,
    seconds: Math.round(seconds),
    faults: Object.values(counts).reduce((sum, count) => sum + count, 0),
    ...counts,
    ...rest,
  } satisfies Counts
}

/** The counts of a run that ended with an error: its faults do not count. */
export function countsOfBrokenRun(seed: number, seconds: number): Counts {
  return { seeds: [seed], failed: 1, seconds: Math.round(seconds) }
}

/** A line for each figure. A list of times is shown as its length, its median and its longest. */
export function linesOf(counts: Counts): string[] {
  return Object.entries(counts).flatMap(([name, value]) => {
    if (name === 'seeds') return []
    if (typeof value === 'number') return [line(name, value)]
    const sorted = value.toSorted((a, b) => a - b)
    return [
      line(name, sorted.length),
      line('… median, ms', sorted[Math.floor(sorted.length / 2)] ?? 0),
      line('… longest, ms', sorted.at(-1) ?? 0),
    ]
  })
}

function line(name: string, value: number): string {
  return `${name.padEnd(20)}${String(value).padStart(8)}`
}
