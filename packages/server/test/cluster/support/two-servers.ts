/** Two servers on one PostgreSQL, each with half of the shards. */
import { job } from '@heddle/core'
import type { ShareStats } from '@heddle/core/lowlevel'
import type { AccessPolicy } from '../../../src/http/caller.ts'
import { startServer, type Server, type ServerOptions } from '../../../src/server.ts'
import { call } from '../../support/client.ts'
import { reach } from '../../../../core/test/kernel/until.ts'

export interface ClusterHealth {
  readonly shards: number
  readonly servers: number
  readonly sure: boolean
  readonly forwarded: number
  readonly forward_groups: number
  readonly open_jobs: number
  readonly limits: Readonly<Record<string, ShareStats>>
}

export async function clusterOf(server: Server): Promise<ClusterHealth> {
  return (await call(server, '/healthz')).body['cluster'] as ClusterHealth
}

export interface PairOptions {
  readonly store: string
  readonly jobs: (place: 'one' | 'two') => readonly unknown[]
  readonly policy?: (place: 'one' | 'two') => AccessPolicy | undefined
  readonly limits?: ServerOptions['limits']
}

export interface Pair extends AsyncDisposable {
  readonly one: Server
  readonly two: Server
}

export async function startPair({ store, jobs, policy, limits }: PairOptions): Promise<Pair> {
  const start = (place: 'one' | 'two'): Promise<Server> =>
    startServer({
      jobs: [...jobs(place), job({ name: 'unused' }, () => 0)],
      store,
      port: 0,
      threads: 1,
      limits: { loop: 64, loopGap: Infinity, ...limits },
      policy: policy?.(place),
    })
  const one = await start('one')
  const two = await start('two')
  await reach(
    async () => [await clusterOf(one), await clusterOf(two)] as const,
    ([a, b]) => a.shards === 128 && b.shards === 128,
  )
  return {
    one,
    two,
    async [Symbol.asyncDispose]() {
      await one[Symbol.asyncDispose]()
      await two[Symbol.asyncDispose]()
    },
  }
}
