/** The effect on writers of a prune of many runs. */
import { setTimeout as after } from 'node:timers/promises'
import type { Row } from '../../harness/row.ts'
import { needsOf, ownAddress, type Backend } from './own-address.ts'
import { WriterRate } from './writer-rate.ts'

/** Milliseconds of writing alone, before and after. */
const alone = 20_000

/**
 * Which share of all runs is pruned. A prune works one sixth of the time, so half of a million runs
 * takes many minutes.
 */
const parts = { half: 2, '50,000': 20 } as const

export function pruneRow(backend: Backend, part: keyof typeof parts): Row {
  return {
    name: `prune ${part} of a million runs, ${backend}`,
    measure: 'rate',
    unit: '% of the rate without it',
    size: 1_000_000,
    quickSize: 2_000,
    warmUps: 0,
    warmUpSize: 0,
    rounds: 1,
    children: 1,
    limitMs: 60 * 60_000,
    note: 'a writer with 64 nodes in flight: its rate while another process prunes against the mean of before and after',
    also: [
      { name: 'transitions during the prune', measure: 'rate', unit: 'transitions/s' },
      { name: 'runs removed', measure: 'rate', unit: 'runs/s' },
    ],
    entrants: {
      heddle: {
        role: 'ours',
        needs: needsOf(backend),
        load: async () => {
          const { fillStore, week } = await import('../../ours/many-runs.ts')
          const { ledger } = await import('../../ours/journal.ts')
          const { pruneInProcess } = await import('../../ours/prune-process.ts')
          return {
            prepare: async (size) => {
              const address = await ownAddress(backend)
              const older = size / parts[part]
              await fillStore(address, size, older)
              const written = await ledger(address, 'fsync')
              const quiet = Math.min(alone, size)
              return async () => {
                const writer = new WriterRate(written, 64)
                const before = await writer.during(after(quiet))
                const start = performance.now()
                const pruning = pruneInProcess(address, Date.now() - week)
                const during = await writer.during(pruning)
                const seconds = (performance.now() - start) / 1000
                const removed = await pruning
                const later = await writer.during(after(quiet))
                await writer.stop()
                if (removed !== older) throw new Error(`${removed} runs were removed`)
                await written[Symbol.asyncDispose]()
                return () => ({
                  value: (200 * during) / (before + later),
                  also: {
                    'transitions during the prune': during,
                    'runs removed': removed / seconds,
                  },
                })
              }
            },
          }
        },
      },
    },
  }
}
