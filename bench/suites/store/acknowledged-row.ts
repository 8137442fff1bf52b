/** What an acknowledged job costs a server: from the request to its recorded end. */
import type { Row } from '../../harness/row.ts'
import { needsOf, ownAddress, type Backend } from './own-address.ts'

const inFlight = 16

export function acknowledgedRow(backend: Backend): Row {
  return {
    name: `acknowledged job, ${backend}`,
    measure: 'latency',
    unit: 'ms of CPU',
    size: 5_000,
    quickSize: 100,
    warmUps: 1,
    warmUpSize: 2_000,
    rounds: 3,
    children: 2,
    isOutside: true,
    note: 'CPU of the server, HTTP included, its database not; POST /jobs/echo answered with 202, 16 at a time, until all are done',
    also: [{ name: 'jobs', measure: 'rate', unit: 'jobs/s' }],
    entrants: {
      heddle: {
        role: 'ours',
        needs: needsOf(backend),
        load: async () => {
          const { startAckServer } = await import('../../ours/acknowledged-jobs.ts')
          const server = await startAckServer(await ownAddress(backend))
          return {
            prepare: (size) => async () => {
              const before = server.cpu()
              const start = performance.now()
              await server.submit(size, inFlight)
              await server.waitDone()
              const elapsed = performance.now() - start
              const after = server.cpu()
              if (before === undefined || after === undefined) {
                throw new Error('this system does not tell the CPU of another process')
              }
              return () => ({
                value: (after - before) / size,
                also: { jobs: (size / elapsed) * 1000 },
              })
            },
          }
        },
      },
    },
  }
}
