/** What reading costs with a million finished runs in the store. */
import type { Row } from '../../harness/row.ts'
import { needsOf, ownAddress, type Backend } from './own-address.ts'

/** Times that a question is asked. */
const asked = 200

type Question = 'list' | 'show' | 'read one interrupted run back'

const questions: readonly Question[] = ['list', 'show', 'read one interrupted run back']

export function manyRunsRow(backend: Backend): Row {
  return {
    name: `million finished runs, ${backend}`,
    measure: 'latency',
    unit: 'ms',
    size: 1_000_000,
    quickSize: 2_000,
    warmUps: 0,
    warmUpSize: 0,
    rounds: 1,
    children: 1,
    // Making the store takes minutes.
    limitMs: 30 * 60_000,
    note: 'p99 of 200 calls; the row itself is the slowest of the three. List is a page of 50, as the server and `heddle runs` show it',
    also: questions.map((name) => ({ name, measure: 'latency', unit: 'ms' })),
    entrants: {
      heddle: {
        role: 'ours',
        needs: needsOf(backend),
        load: async () => {
          const { fillStore } = await import('../../ours/many-runs.ts')
          const { openJournal } = await import('@heddle/core/lowlevel')
          return {
            prepare: async (size) => {
              const address = await ownAddress(backend)
              await fillStore(address, size)
              const journal = await openJournal(address, { readOnly: true })
              const { runs: newest } = await journal.list({ limit: 50 })
              const ask: Record<Question, (count: number) => Promise<unknown>> = {
                list: async () => {
                  await journal.list({ limit: 50 })
                  await journal.list({ limit: 50, outcomes: ['interrupted'] })
                  return journal.runs({ limit: 50 })
                },
                show: async (count) => {
                  const { id } = newest[count % newest.length]!
                  await journal.overview(id)
                  return journal.snapshot(id)
                },
                'read one interrupted run back': async () => {
                  const [found] = await journal.runs({ state: 'interrupted', limit: 1 })
                  if (found?.id !== 'interrupted') throw new Error('the run was not found')
                  const { nodes } = await journal.snapshot(found.id)
                  const results = await Array.fromAsync(journal.results(found.id))
                  if (nodes.length !== 2 || results.length !== 1)
                    throw new Error('rows are missing')
                },
              }
              return async () => {
                const also: Record<string, number> = {}
                for (const question of questions) also[question] = await slowest(ask[question])
                await journal.stop()
                return () => ({ value: Math.max(...Object.values(also)), also })
              }
            },
          }
        },
      },
    },
  }
}

/** p99, in milliseconds, after ten calls that do not count. */
async function slowest(ask: (count: number) => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let count = 0; count < asked + 10; count++) {
    const start = performance.now()
    await ask(count)
    if (count >= 10) times.push(performance.now() - start)
  }
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)]!
}
