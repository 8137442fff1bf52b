/** The list of runs over HTTP, as the dashboard asks for it, with a million runs in the store. */
import type { Row } from '../../harness/row.ts'

/** Times that each question is asked; a quick look at a small store needs fewer. */
const asked = 200
const askedQuickly = 20

const questions = {
  list: '/runs?limit=50',
  'failed runs': '/runs?limit=50&state=failed',
  'next page': '/runs?limit=50&cursor=',
  counts: '/runs/counts',
} as const

type Question = keyof typeof questions
const names = Object.keys(questions) as Question[]

export const runsListRow: Row = {
  name: 'list of 1,000,000 runs, p99 of the server',
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
  note: `p99 of ${asked} requests over HTTP on SQLite; the row itself is the slowest of the four questions. 50 ms are allowed.`,
  also: names.map((name) => ({ name, measure: 'latency', unit: 'ms' })),
  entrants: {
    heddle: {
      role: 'ours',
      load: async () => {
        const { fillStore } = await import('../../ours/many-runs.ts')
        const { ownAddress } = await import('../store/own-address.ts')
        const { startServer } = await import('@heddle/server')
        return {
          prepare: async (size) => {
            const store = await ownAddress('SQLite')
            await fillStore(store, size)
            const server = await startServer({ store, port: 0 })
            const first = await fetch(`${server.url}${questions.list}`)
            const { next } = (await first.json()) as { readonly next: string | null }
            return async () => {
              const also: Record<string, number> = {}
              for (const name of names) {
                const address = `${server.url}${questions[name]}${name === 'next page' ? next : ''}`
                also[name] = await p99(address, size < 10_000 ? askedQuickly : asked)
              }
              await server[Symbol.asyncDispose]()
              return () => ({ value: Math.max(...Object.values(also)), also })
            }
          },
        }
      },
    },
  },
}

/** In milliseconds, after ten requests that do not count. */
async function p99(address: string, requests: number): Promise<number> {
  const times: number[] = []
  for (let count = 0; count < requests + 10; count++) {
    const started = performance.now()
    const response = await fetch(address)
    await response.arrayBuffer()
    if (!response.ok) throw new Error(`${address} answered ${response.status}`)
    if (count >= 10) times.push(performance.now() - started)
  }
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)]!
}
