/** The lifecycle of the server's parts: each passes the suite of `kernel/service.ts`. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Tables } from '@heddle/core/lowlevel'
import { seededRandom } from '@heddle/core/lowlevel'
import { VirtualClock, serviceConformance } from '@heddle/core/testing'
import { BlockWatch } from '../src/fleet/block-watch.ts'
import { LeaseBook } from '../src/fleet/lease-book.ts'
import { FolderWatch } from '../src/jobs/results-folder.ts'
import { Ticker } from '../src/schedules/ticker.ts'
import { CampaignHistory } from '../src/ui/campaign-history.ts'
import { LoadHistory } from '../src/ui/load-history.ts'
import { makeWorld, TestServer } from './fleet/kit.ts'

const never = (): Promise<never> => new Promise(() => {})

serviceConformance('ticker', () => {
  const clock = new VirtualClock()
  const look = never
  const tables = { now: async () => clock.wallTime() }
  const service = new Ticker({ parts: [{ look }], tables, clock, log: () => {} })
  return {
    service,
    // The look under way never ends.
    occupy: () => clock.advance(0),
    held: () => clock.pending,
  }
})

serviceConformance('watch over blocked users', () => {
  const clock = new VirtualClock()
  const kernel = { clock, random: seededRandom(1) }
  const fleet = { hasWorkers: true, block: () => {}, takeRestored: () => undefined }
  const service = new BlockWatch({ fleet, people: { refusedSince: never }, kernel })
  return { service, occupy: () => clock.advance(1_000), held: () => clock.pending }
})

serviceConformance('watch over the folder of the results', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'heddle-server-'))
  const clock = new VirtualClock()
  return {
    service: new FolderWatch(folder, clock, () => {}),
    held: () => clock.pending,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
})

serviceConformance('lease book', () => {
  const clock = new VirtualClock()
  const kernel = { clock, random: seededRandom(1) }
  const service = new LeaseBook({ kernel, onClosed: () => {} })
  return { service, held: () => clock.pending }
})

serviceConformance('history of the load', () => {
  const clock = new VirtualClock()
  const calm = {
    utilisation: 0,
    level: 'calm',
    requests: 0,
    threadsBusy: 0,
    finished: 0,
    refused: 0,
    queued: {},
  }
  return { service: new LoadHistory(clock, () => calm), held: () => clock.pending }
})

serviceConformance('history of campaigns', () => {
  const clock = new VirtualClock()
  const campaigns = { offering: () => [][Symbol.iterator]() }
  const service = new CampaignHistory({} as Tables, clock, campaigns)
  return { service, held: () => clock.pending }
})

/** A server that has read its shards, or whose database is away while it reads them. */
async function fleetParts(isAway: boolean): Promise<TestServer> {
  const world = makeWorld()
  const server = new TestServer(world)
  if (isAway) world.database.tables.ofShards = never
  await server.fleet.start()
  await server.ownership.start()
  await world.clock.settle()
  return server
}

serviceConformance('campaigns', async () => {
  const server = await fleetParts(true)
  return {
    service: server.campaigns,
    occupy: () => {},
    [Symbol.asyncDispose]: () => server.kill(),
  }
})

serviceConformance('jobs of the fleet', async () => {
  const server = await fleetParts(true)
  return { service: server.jobs, occupy: () => {}, [Symbol.asyncDispose]: () => server.kill() }
})
