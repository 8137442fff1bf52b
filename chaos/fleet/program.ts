/** `npm run test:chaos -- fleet-scale [--workers 1000,10000,100000] [--servers 1] [--steady 300] [--seed 1] [--partition 0.05] [--loss 0.01]` */
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { simulateScale } from './scale.ts'

/** *Cancellation*: none. Resolves with the exit code: 1 when a lease was lost or a unit counted twice. */
export async function playScale(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      workers: { type: 'string', default: '1000,10000,100000' },
      servers: { type: 'string', default: '1' },
      steady: { type: 'string', default: '300' },
      seed: { type: 'string', default: '1' },
      partition: { type: 'string', default: '0.05' },
      loss: { type: 'string', default: '0.01' },
    },
  })
  // Lets the test collect garbage, so that memory means memory in use.
  setFlagsFromString('--expose_gc')
  globalThis.gc ??= runInNewContext('gc') as NodeJS.GCFunction
  let isGood = true
  for (const workers of values.workers.split(',').map(Number)) {
    const report = await simulateScale({
      workers,
      servers: Number(values.servers),
      steady: Number(values.steady),
      seed: Number(values.seed),
      partition: Number(values.partition),
      loss: Number(values.loss),
    })
    isGood &&= report.lost === 0 && report.difference === 0
    console.log(JSON.stringify(report))
  }
  return isGood ? 0 : 1
}
