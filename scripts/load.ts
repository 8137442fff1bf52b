/**
 * Loads and accidents with real servers and real sockets.
 *
 * `npm run test:load -- --workers 10000 --speed 10` is the load generator: bench/suites/fleet/main.ts.
 * `npm run test:load -- --accidents` kills servers, workers and PostgreSQL under 200 clients: chaos/fleet/accidents.ts.
 */
import { parseArgs } from 'node:util'
import { playAccidents } from '../chaos/fleet/accidents.ts'

if (process.argv.includes('--accidents')) process.exitCode = await accidents()
else await import('../bench/suites/fleet/main.ts')

async function accidents(): Promise<number> {
  const { values } = parseArgs({
    options: {
      accidents: { type: 'boolean' },
      units: { type: 'string', default: '10000' },
      'unit-ms': { type: 'string', default: '500' },
      clients: { type: 'string', default: '200' },
      processes: { type: 'string', default: '8' },
      work: { type: 'string', default: '8' },
      pause: { type: 'string', default: '5000' },
      still: { type: 'string', default: '15000' },
      seed: { type: 'string', default: '1' },
    },
  })
  const report = await playAccidents(
    {
      units: Number(values.units),
      unitMs: Number(values['unit-ms']),
      clients: Number(values.clients),
      processes: Number(values.processes),
      work: Number(values.work),
      pause: Number(values.pause),
      stillFor: Number(values.still),
      seed: Number(values.seed),
    },
    (line) => process.stderr.write(`${line}\n`),
  )
  console.log(JSON.stringify(report))
  return report.isGood ? 0 : 1
}
