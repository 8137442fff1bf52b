import type { Row, Suite } from '../../harness/row.ts'
import { inFlight } from '../journal/conditions.ts'
import { needs } from '../journal/needs.ts'
import { acknowledgedRow } from './acknowledged-row.ts'
import { heldTransactionRow } from './held-transaction-row.ts'
import { manyRunsRow } from './many-runs-row.ts'
import { nodesRow } from './nodes-row.ts'
import type { Peer } from './peers.ts'
import { pruneRow } from './prune-row.ts'
import { recallRow } from './recall-row.ts'
import { transitionsRow } from './transitions-row.ts'

const all = (): boolean => true
const recordSteps = ({ keeps }: Peer): boolean => keeps === 'steps'
const queues = ({ keeps }: Peer): boolean => keeps === 'queue'

const runs: readonly Row[] = [
  nodesRow({ name: 'run nodes, SQLite', backend: 'SQLite', shape: 'loose', against: all }),
  nodesRow({
    name: 'run nodes, PostgreSQL, against those that record steps',
    backend: 'PostgreSQL',
    shape: 'loose',
    against: recordSteps,
  }),
  nodesRow({
    name: 'run nodes, PostgreSQL, against queues',
    backend: 'PostgreSQL',
    shape: 'loose',
    against: queues,
  }),
  nodesRow({ name: 'graph, SQLite', backend: 'SQLite', shape: 'graph', against: all }),
  nodesRow({ name: 'graph, PostgreSQL', backend: 'PostgreSQL', shape: 'graph', against: all }),
]

export const suite: Suite = {
  name: 'store',
  summary: 'SQLite and PostgreSQL under the store, against queues and workflow engines',
  rows: [
    ...inFlight.map((count) => transitionsRow('SQLite', count)),
    ...inFlight.map((count) => transitionsRow('PostgreSQL', count)),
    ...runs,
    acknowledgedRow('SQLite'),
    acknowledgedRow('PostgreSQL'),
    recallRow('SQLite'),
    recallRow('PostgreSQL'),
    acknowledgedRow('PostgreSQL', 2),
    manyRunsRow('SQLite'),
    manyRunsRow('PostgreSQL'),
    pruneRow('SQLite', '50,000'),
    pruneRow('PostgreSQL', '50,000'),
    heldTransactionRow,
    pruneRow('SQLite', 'half'),
    pruneRow('PostgreSQL', 'half'),
  ],
  // Loaded by the bench alone: the children, which load this file too, start nothing.
  surround: async (wanted, options) => {
    const { surround } = await import('../journal/surround.ts')
    return surround(wanted, options, [needs.postgres])
  },
}
