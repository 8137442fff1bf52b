/** How long a server that starts needs for the acknowledged jobs that an earlier one has left. */
import type { Row } from '../../harness/row.ts'
import { needsOf, ownAddress, type Backend } from './own-address.ts'

export function recallRow(backend: Backend): Row {
  return {
    name: `recall of 3,000 acknowledged jobs, ${backend}`,
    measure: 'latency',
    unit: 'ms',
    size: 3_000,
    quickSize: 100,
    warmUps: 1,
    warmUpSize: 300,
    rounds: 5,
    children: 2,
    note: 'from the start of the server until the code of the last one may run: one read, and a row for each that says so. Opening the store is not counted',
    also: [{ name: 'until all have ended', measure: 'latency', unit: 'ms' }],
    entrants: {
      heddle: {
        role: 'ours',
        needs: needsOf(backend),
        load: async () => {
          const { leaveJobs, recallJobs } = await import('../../ours/recall.ts')
          return {
            prepare: async (size) => {
              const address = await ownAddress(backend)
              await leaveJobs(address, size)
              return async () => {
                const { begun, ended } = await recallJobs(address, size)
                return () => ({ value: begun, also: { 'until all have ended': ended } })
              }
            },
          }
        },
      },
    },
  }
}
