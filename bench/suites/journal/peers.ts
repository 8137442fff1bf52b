import type { Durability, OpenQueue } from './contract.ts'
import { needs } from './needs.ts'

/** A library that keeps jobs. */
interface Peer {
  readonly open: () => Promise<OpenQueue>
  readonly needs: Readonly<Record<Durability, readonly string[]>>
  /** One for those that are far from being the best: their figures need not be steady. */
  readonly children: 1 | 2
}

const embedded: Peer['needs'] = { fsync: [needs.peers], process: [needs.peers] }
const onPostgres: Peer['needs'] = {
  fsync: [needs.peers, needs.postgres],
  process: [needs.peers, needs.postgres],
}
const onRedis: Peer['needs'] = {
  fsync: [needs.peers, needs.redisAlways],
  process: [needs.peers, needs.redisEverysec],
}

export const peers: Readonly<Record<string, Peer>> = {
  bullmq: {
    open: async () => (await import('./peers/bullmq.ts')).open,
    needs: onRedis,
    children: 2,
  },
  'graphile-worker': {
    open: async () => (await import('./peers/graphile-worker.ts')).open,
    needs: onPostgres,
    children: 2,
  },
  'pg-boss': {
    open: async () => (await import('./peers/pg-boss.ts')).open,
    needs: onPostgres,
    children: 2,
  },
  plainjob: {
    open: async () => (await import('./peers/plainjob.ts')).open,
    needs: embedded,
    children: 2,
  },
  boringnode: {
    open: async () => (await import('./peers/boringnode.ts')).open,
    needs: embedded,
    children: 1,
  },
  openworkflow: {
    open: async () => (await import('./peers/openworkflow.ts')).open,
    needs: embedded,
    children: 1,
  },
}
