/** The effect on writers of a transaction that another client keeps open for three minutes. */
import { setTimeout as after } from 'node:timers/promises'
import type { Row } from '../../harness/row.ts'
import { addressIn, needs, postgresVariable } from '../journal/needs.ts'
import { ownAddress } from './own-address.ts'
import { WriterRate } from './writer-rate.ts'

/** Milliseconds of writing before and after. */
const alone = 60_000

export const heldTransactionRow: Row = {
  name: 'REPEATABLE READ transaction held, PostgreSQL',
  measure: 'rate',
  unit: '% of the rate without it',
  size: 180_000,
  quickSize: 1_000,
  warmUps: 0,
  warmUpSize: 0,
  rounds: 1,
  children: 1,
  limitMs: 20 * 60_000,
  note: 'transitions of a run and acknowledged jobs at the same time, 64 in flight each; the row is the smaller share. Against the mean of a minute before and a minute after',
  also: [
    { name: 'transitions', measure: 'rate', unit: '% of the rate without it' },
    { name: 'acknowledged jobs', measure: 'rate', unit: '% of the rate without it' },
  ],
  entrants: {
    heddle: {
      role: 'ours',
      needs: [needs.postgres],
      load: async () => {
        const { ledger } = await import('../../ours/journal.ts')
        const { openJobLoad } = await import('../../ours/job-load.ts')
        const { default: pg } = await import('pg')
        return {
          prepare: async (milliseconds) => {
            const address = await ownAddress('PostgreSQL')
            const written = await ledger(address, 'fsync')
            const jobs = await openJobLoad(address)
            const other = new pg.Client({ connectionString: addressIn(postgresVariable) })
            await other.connect()
            const schema = new URL(address).searchParams.get('schema')!
            const quiet = Math.min(alone, milliseconds)
            return async () => {
              const writers = [new WriterRate(written, 64), new WriterRate(jobs, 64)]
              const ratesIn = (time: number) => {
                const until = after(time)
                return Promise.all(writers.map((writer) => writer.during(until)))
              }
              const before = await ratesIn(quiet)
              await other.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
              // The snapshot is taken by the first query.
              await other.query(`SELECT count(*) FROM ${schema}.shard`)
              const held = await ratesIn(milliseconds)
              await other.query('ROLLBACK')
              const later = await ratesIn(quiet)
              for (const writer of writers) await writer.stop()
              await other.end()
              await jobs[Symbol.asyncDispose]()
              await written[Symbol.asyncDispose]()
              const [transitions, acknowledged] = held.map(
                (rate, index) => (200 * rate) / (before[index]! + later[index]!),
              )
              return () => ({
                value: Math.min(transitions!, acknowledged!),
                also: { transitions: transitions!, 'acknowledged jobs': acknowledged! },
              })
            }
          },
        }
      },
    },
  },
}
