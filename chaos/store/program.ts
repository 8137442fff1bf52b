/** `npm run test:chaos -- --store postgres [--faults 30 --seed 7 --streams 8 --json]`. */
import { parseArgs } from 'node:util'
import { openKeeper, startPostgres } from '@heddle/test-servers'
import { clusterFaults } from './cluster-faults.ts'

/** Resolves with the exit code. */
export async function playStore(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      store: { type: 'string' },
      faults: { type: 'string', default: '30' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
      streams: { type: 'string', default: '8' },
      json: { type: 'boolean', default: false },
    },
  })
  if (values.store !== 'postgres') {
    console.error(`--store ${values.store}: expected postgres`)
    return 2
  }
  const [seed, faults, streams] = [values.seed, values.faults, values.streams].map(Number) as [
    number,
    number,
    number,
  ]
  await using keeper = await openKeeper()
  const address = await startPostgres(keeper)
  if (!values.json) console.log(`seed ${seed}: ${faults} faults, ${streams} requests at a time`)
  const started = performance.now()
  const report = await clusterFaults({ address, seed, faults, streams })
  const isOk =
    report.lost === 0 &&
    report.wrong === 0 &&
    report.openJobs === 0 &&
    report.outcomes + report.setAside >= report.acknowledged
  const seconds = (performance.now() - started) / 1000
  if (values.json) console.log(JSON.stringify({ ok: isOk, seed, seconds, ...report }))
  else {
    for (const [name, value] of Object.entries(report)) {
      console.log(`${name.padEnd(20)}${String(Math.round(value)).padStart(8)}`)
    }
    console.log(isOk ? `✔ ${seconds.toFixed(1)} s` : `✖ play it again with --seed ${seed}`)
  }
  return isOk ? 0 : 1
}
