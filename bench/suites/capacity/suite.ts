import type { Entrant, Figures, Row, Suite } from '../../harness/row.ts'

/**
 * An entrant that works out its figures itself. What `prepare` does (describing, starting a server) is neither
 * timed nor watched for gaps of the loop.
 */
function entrant(
  role: Entrant['role'],
  prepare: (size: number) => Promise<() => Promise<Figures>>,
): Entrant {
  return {
    role,
    load: async () => ({
      prepare: async (size) => {
        const play = await prepare(size)
        return async () => {
          const figures = await play()
          return () => figures
        }
      },
    }),
  }
}

const ours = () => import('../../ours/capacity.ts')

function keysRow(keys: number, nodes = 20_000): Row {
  return {
    name: `${keys.toLocaleString('en')} keys`,
    measure: 'latency',
    unit: 'us/node',
    size: nodes,
    quickSize: 500,
    warmUps: 1,
    warmUpSize: 2_000,
    rounds: 3,
    children: 3,
    note: 'empty nodes, one at a time for each key, 64 at once; the description is not timed',
    entrants: {
      heddle: entrant('ours', async (size) => {
        const { describeKeys } = await ours()
        const run = describeKeys(size, keys)
        return async () => ({ value: ((await run()) * 1_000) / size, also: {} })
      }),
    },
  }
}

function contendedRow(nodes: number): Row {
  return {
    name: `two scarce resources, ${nodes.toLocaleString('en')} keys`,
    measure: 'latency',
    unit: 'us/node',
    size: nodes,
    quickSize: 300,
    warmUps: 1,
    warmUpSize: 1_000,
    rounds: 3,
    children: 3,
    note: 'db 2, api 2, one for each key; a third wants db, a third api, a third both; 1 to 5 turns of the loop each',
    entrants: {
      heddle: entrant('ours', async (size) => {
        const { describeContended } = await ours()
        const run = describeContended(size)
        return async () => ({ value: ((await run()) * 1_000) / size, also: {} })
      }),
    },
  }
}

const pipeline: Row = {
  name: 'pipeline',
  measure: 'latency',
  unit: '% of the run until the first row is stored',
  size: 200,
  quickSize: 10,
  warmUps: 1,
  warmUpSize: 4,
  rounds: 1,
  children: 3,
  also: [
    { name: 'first store', measure: 'latency', unit: 'ms' },
    { name: 'total', measure: 'latency', unit: 'ms' },
  ],
  note: '200 × (fetch 20 ms on the loop → parse 10 ms in a thread → store 2 ms), { loop: 16, thread: 2 }',
  entrants: {
    heddle: entrant('ours', async (size) => {
      const { runPipeline } = await ours()
      return async () => {
        const { firstStoreMs, totalMs } = await runPipeline(size)
        return {
          value: (100 * firstStoreMs) / totalMs,
          also: { 'first store': firstStoreMs, total: totalMs },
        }
      }
    }),
  },
}

const server: Row = {
  name: 'eight waits of 500 ms on a server',
  measure: 'latency',
  unit: 'ms',
  size: 1,
  quickSize: 1,
  warmUps: 1,
  warmUpSize: 1,
  rounds: 1,
  children: 3,
  also: [
    { name: 'two thread jobs of 300 ms', measure: 'latency', unit: 'ms' },
    { name: 'priority 0 beside three of 500 ms', measure: 'latency', unit: 'ms' },
  ],
  note: 'over HTTP, with two threads and no other limits given',
  entrants: {
    heddle: entrant('ours', async () => {
      const { serve } = await ours()
      const measure = await serve()
      return async () => {
        const { waitsMs, pairMs, urgentMs } = await measure()
        return {
          value: waitsMs,
          also: {
            'two thread jobs of 300 ms': pairMs,
            'priority 0 beside three of 500 ms': urgentMs,
          },
        }
      }
    }),
  },
}

export const suite: Suite = {
  name: 'capacity',
  summary:
    'what permits cost with many keys, whether a pipeline drains, what a server runs at once',
  // Ten times the keys and ten times the nodes: the cost of a node must stay.
  rows: [
    keysRow(10),
    keysRow(1_000),
    keysRow(10_000),
    keysRow(100_000, 200_000),
    contendedRow(1_000),
    contendedRow(8_000),
    pipeline,
    server,
  ],
}
