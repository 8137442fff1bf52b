import type { Entrant } from '../../harness/row.ts'
import type { OpenQueue } from '../journal/contract.ts'
import { needs } from '../journal/needs.ts'
import { slowPeerNodes } from './conditions.ts'

/** A library that keeps jobs, at full durability. */
export interface Peer {
  /** `steps`: records every step of a workflow, as a journal does. `queue`: keeps jobs, and moves them in batches. */
  readonly keeps: 'steps' | 'queue'
  readonly open: () => Promise<OpenQueue>
  readonly needs: readonly string[]
  /** The options that its children play with less. */
  readonly plan?: Pick<Entrant, 'size'>
}

const onPostgres = [needs.peers, needs.postgres]

export const peers: Readonly<Record<string, Peer>> = {
  'pg-boss': {
    keeps: 'queue',
    open: async () => (await import('../journal/peers/pg-boss.ts')).open,
    needs: onPostgres,
  },
  'graphile-worker': {
    keeps: 'queue',
    open: async () => (await import('../journal/peers/graphile-worker.ts')).open,
    needs: onPostgres,
  },
  bullmq: {
    keeps: 'queue',
    open: async () => (await import('../journal/peers/bullmq.ts')).open,
    needs: [needs.peers, needs.redisAlways],
  },
  dbos: {
    keeps: 'steps',
    open: async () => (await import('../journal/peers/dbos.ts')).open,
    needs: onPostgres,
    plan: { size: slowPeerNodes },
  },
  openworkflow: {
    keeps: 'steps',
    open: async () => (await import('../journal/peers/openworkflow-postgres.ts')).open,
    needs: onPostgres,
    plan: { size: slowPeerNodes },
  },
}
