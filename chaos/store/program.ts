/** `npm run test:chaos -- --store postgres [--faults 30 --only kill,stop,cut,pgkill,disk,replica --seed 7 --streams 8 --json]`. */
import { parseArgs } from 'node:util'
import { openKeeper } from '@heddle/test-servers'
import { clusterFaults, type ClusterFaultsReport } from './cluster-faults.ts'
import { FaultyDatabase } from './faulty-database.ts'
import { faultKinds, type FaultKind } from './faults.ts'

/** Resolves with the exit code. */
export async function playStore(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      store: { type: 'string' },
      faults: { type: 'string', default: '30' },
      only: { type: 'string', default: faultKinds.join(',') },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
      streams: { type: 'string', default: '8' },
      json: { type: 'boolean', default: false },
    },
  })
  if (values.store !== 'postgres') return misuse(`--store ${values.store}: expected postgres`)
  const [seed, faults, streams] = [values.seed, values.faults, values.streams].map(Number) as [
    number,
    number,
    number,
  ]
  if (![seed, faults, streams].every((each) => Number.isInteger(each) && each >= 0)) {
    return misuse('--seed, --faults, --streams: expected whole numbers')
  }
  const asked = values.only.split(',') as FaultKind[]
  const unknown = asked.find((kind) => !faultKinds.includes(kind))
  if (unknown !== undefined) {
    return misuse(`--only ${unknown}: expected some of ${faultKinds.join(', ')}`)
  }
  await using keeper = await openKeeper()
  await using database = await FaultyDatabase.open(keeper, {
    isOnSmallDisk: asked.includes('disk'),
  })
  const { noDisk } = database
  const kinds = asked.filter((kind) => kind !== 'disk' || noDisk === undefined)
  const isShown = !values.json
  if (kinds.length < asked.length) console.error(`﹣ disk: skipped, ${noDisk}`)
  if (kinds.length === 0) return 0
  if (isShown) console.log(`seed ${seed}: ${faults} faults, ${streams} requests at a time`)
  const started = performance.now()
  const report = await clusterFaults({
    database,
    seed,
    faults,
    kinds,
    streams,
    onFault: (kind, number) => {
      if (number % 10 === 0) console.error(`  ${number}: ${kind}`)
    },
  })
  const problems = problemsOf(report)
  const isOk = problems.length === 0
  const seconds = (performance.now() - started) / 1000
  if (values.json) console.log(JSON.stringify({ ok: isOk, seed, seconds, problems, ...report }))
  else {
    const { counts, ...rest } = report
    for (const [name, value] of Object.entries({ ...counts, ...rest })) {
      console.log(`${name.padEnd(20)}${String(Math.round(value)).padStart(8)}`)
    }
    for (const problem of problems) console.log(`✖ ${problem}`)
    console.log(isOk ? `✔ ${seconds.toFixed(1)} s` : `✖ play it again with --seed ${seed}`)
  }
  return isOk ? 0 : 1
}

function misuse(problem: string): number {
  console.error(problem)
  return 2
}

/** X1 to X4. */
function problemsOf(report: ClusterFaultsReport): string[] {
  const { lost, wrong, openJobs, doubled, foreignWrites, outcomes, acknowledged } = report
  const { lateTakeOvers } = report
  return [
    ...(lost > 0 ? [`${lost} acknowledged requests have no result`] : []),
    ...(wrong > 0 ? [`${wrong} results are wrong`] : []),
    ...(openJobs > 0 ? [`${openJobs} jobs have no outcome`] : []),
    ...(doubled > 0 ? [`${doubled} acknowledgements or outcomes were written twice`] : []),
    ...(foreignWrites > 0 ? [`${foreignWrites} rows were written to shards of other servers`] : []),
    ...(outcomes < acknowledged ? [`${acknowledged} acknowledged, ${outcomes} outcomes`] : []),
    ...(lateTakeOvers > 0 ? [`${lateTakeOvers} take-overs took longer than 9 s`] : []),
  ]
}
