/**
 * `npm run test:chaos -- --store postgres [--faults 30 --only kill,stop,cut,pgkill,disk,replica --seed 7 --streams 8
 * --tally FILE --json]`. Ports and folders are its own: several can run beside each other.
 */
import { parseArgs } from 'node:util'
import { openKeeper } from '@heddle/test-servers'
import { anySeed, wholeNumbers, wrongCall } from '../call.ts'
import { addToTally } from '../tally.ts'
import { clusterFaults } from './cluster-faults.ts'
import { FaultyDatabase } from './faulty-database.ts'
import { faultKinds, type FaultKind } from './faults.ts'
import { countsOf, countsOfBrokenRun, linesOf, problemsOf } from './report.ts'

/** Resolves with the exit code. */
export async function playStore(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      store: { type: 'string' },
      faults: { type: 'string', default: '30' },
      only: { type: 'string', default: faultKinds.join(',') },
      seed: { type: 'string', default: anySeed() },
      streams: { type: 'string', default: '8' },
      // A file in which the counts of several runs are added up.
      tally: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  })
  if (values.store !== 'postgres') {
    throw wrongCall(`--store ${values.store}: expected postgres`)
  }
  const { seed, faults, streams } = wholeNumbers(values, ['seed', 'faults', 'streams'])
  const asked = values.only.split(',') as FaultKind[]
  const unknown = asked.find((kind) => !faultKinds.includes(kind))
  if (unknown !== undefined) {
    throw wrongCall(`--only ${unknown}: expected some of ${faultKinds.join(', ')}`)
  }
  await using keeper = await openKeeper()
  await using database = await FaultyDatabase.open(keeper, {
    isOnSmallDisk: asked.includes('disk'),
  })
  const { noDisk } = database
  const kinds = asked.filter((kind) => kind !== 'disk' || noDisk === undefined)
  if (kinds.length < asked.length) console.error(`﹣ disk: skipped, ${noDisk}`)
  if (kinds.length === 0) return 0
  console.error(`seed ${seed}: ${faults} faults, ${streams} requests at a time`)
  const { tally: tallyFile } = values
  const started = performance.now()
  const passed = (): number => (performance.now() - started) / 1000
  const onFault = (kind: FaultKind, number: number): void => {
    if (number % 10 === 0) console.error(`  ${number}: ${kind}`)
  }
  try {
    const report = await clusterFaults({ database, seed, faults, kinds, streams, onFault })
    const problems = problemsOf(report)
    const isOk = problems.length === 0
    const counts = countsOf(seed, passed(), report)
    const tally = tallyFile === undefined ? {} : { tally: addToTally(tallyFile, counts) }
    if (values.json) {
      console.log(
        JSON.stringify({ ok: isOk, seed, seconds: passed(), problems, ...report, ...tally }),
      )
    } else {
      for (const line of linesOf(counts)) console.log(line)
      for (const problem of problems) console.log(`✖ ${problem}`)
      if (tally.tally !== undefined) {
        console.log(`\nAll runs in ${tallyFile}:`)
        for (const line of linesOf(tally.tally)) console.log(line)
      }
      console.log(isOk ? `✔ seed ${seed}` : `✖ play it again with --seed ${seed}`)
    }
    return isOk ? 0 : 1
  } catch (error) {
    if (tallyFile !== undefined) addToTally(tallyFile, countsOfBrokenRun(seed, passed()))
    console.error(`✖ play it again with --seed ${seed}`)
    throw error
  }
}
