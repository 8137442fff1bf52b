/** What an acknowledged job costs a server: from the request to its recorded end. */
import type { Row } from '../../harness/row.ts'
import { needsOf, ownAddress, type Backend } from './own-address.ts'

const inFlight = 16

/** With two servers the client speaks to the first one, which forwards half of the jobs to the second. */
export function acknowledgedRow(backend: Backend, servers: 1 | 2 = 1): Row {
  const many = servers === 1 ? '' : ', two servers'
  return {
    name: `acknowledged job, ${backend}${many}`,
    measure: 'latency',
    unit: 'ms of CPU',
    size: 5_000,
    quickSize: 100,
    warmUps: 1,
    warmUpSize: 2_000,
    rounds: 3,
    children: 2,
    isOutside: true,
    note: `CPU of ${servers === 1 ? 'the server' : 'both servers'}, HTTP included, its database not; POST /jobs/echo answered with 202, 16 at a time, until all are done${servers === 1 ? '' : '; half of them are forwarded'}`,
    also: [{ name: 'jobs', measure: 'rate', unit: 'jobs/s' }],
    entrants: {
      heddle: {
        role: 'ours',
        needs: needsOf(backend),
        load: async () => {
          const { startAckServer } = await import('../../ours/acknowledged-jobs.ts')
          const server = await startAckServer(await ownAddress(backend), servers)
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
