import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError } from '@heddle/core'
import { seededRandom, type Random } from '@heddle/core/lowlevel'
import type { Lease } from '../../src/fleet/lease.ts'
import { readCampaign, readClosedLeases } from '../../src/campaigns/records.ts'
import { TestServer, callOf, makeWorld, type World } from './kit.ts'

/** What a simulated worker knows of its lease: it sends a report until it was acknowledged. */
interface Held {
  readonly call: { lease: string; epoch: number; worker: string }
  readonly size: number
  sequence: number
  done: number
}

const batch = 5
const units = 200

/** A worker whose calls may get lost on the way there or back. */
class SimulatedWorker {
  readonly id: string
  held: Held | undefined
  readonly #random: Random
  /** Acknowledged units, by lease. */
  readonly acknowledged = new Map<string, number>()

  constructor(id: string, random: Random) {
    this.id = id
    this.#random = random
  }

  async act(server: TestServer): Promise<void> {
    const dice = this.#random.next()
    try {
      if (this.held === undefined) await this.#claim(server)
      else if (dice < 0.6) await this.#report(server)
      else if (dice < 0.8) server.fleet.book.beat(this.held.call, Math.floor(dice * 1e6))
      else if (dice < 0.85) await this.#failLease(server)
      else if (dice < 0.9) this.held = undefined
    } catch (error) {
      // Follows the protocol: an ended lease is dropped, every other failure is retried.
      if (isError(error, 'HDL_LEASE_ENDED')) this.held = undefined
      else assert.ok(isPassing(error), String(error))
    }
  }

  async #claim(server: TestServer): Promise<void> {
    const offer = await server.claim(this.id, { holds: [], request: '' })
    if ('reason' in offer || this.#isLost()) return
    const call = callOf(offer)
    await server.fleet.accept(call)
    if (this.#isLost()) return
    this.held = { call, size: offer.size, sequence: 0, done: 0 }
  }

  async #report(server: TestServer): Promise<void> {
    const held = this.held!
    const done = Math.min(held.size, held.done + batch)
    const answer = await server.fleet.update(held.call, {
      sequence: held.sequence + 1,
      done,
      result: [0, 0, done],
    })
    if (this.#isLost()) return
    held.sequence++
    held.done = done
    this.acknowledged.set(held.call.lease, done)
    if (answer.closed !== undefined) this.held = undefined
  }

  async #failLease(server: TestServer): Promise<void> {
    const { call } = this.held!
    await server.fleet.fail(call, { message: 'it broke', retryable: true, stage: 'run' })
    this.held = undefined
  }

  /** The answer does not arrive. */
  #isLost(): boolean {
    return this.#random.next() < 0.1
  }
}

function isPassing(error: unknown): boolean {
  const codes = ['HDL_NOT_OWNER', 'HDL_STORE_FAILED', 'HDL_OWNERSHIP_LOST', 'HDL_CLOSED'] as const
  return codes.some((code) => isError(error, code)) || String(error).includes('killed')
}

async function play(seed: number): Promise<void> {
  const world = makeWorld(seed)
  const random = seededRandom(seed * 7 + 3)
  let server = await new TestServer(world).start()
  const campaign = await server.create({
    units,
    batch,
    leaseTime: 20_000,
    beat: 2_000,
    stale: 6_000,
  })
  world.database.lossRate = 0.1
  const workers = Array.from({ length: 6 }, (_, n) => new SimulatedWorker(`w${n}`, random))
  let restarts = 0
  for (let step = 0; step < 3_000; step++) {
    const now = server.campaigns.get(campaign.id)
    if (now?.phase === 'ended') break
    const acting = workers.filter(() => random.next() < 0.5).map((worker) => worker.act(server))
    const ended = Promise.all(acting)
    if (random.next() < 0.01 && restarts < 4) {
      restarts++
      await server.kill()
      server = await restart(world, random)
    }
    await world.clock.advance(random.next() * 1_500)
    await world.clock.runUntil(ended)
    if (now !== undefined) checkUnits(server, campaign.id)
  }
  world.database.lossRate = 0
  await world.clock.advance(90_000)
  await checkEnd(world, server, campaign.id, workers)
  await server.stop()
}

async function restart(world: World, random: Random): Promise<TestServer> {
  await world.clock.advance(random.next() * 8_000)
  const server = await new TestServer(world).start()
  await world.clock.advance(9_000)
  return server
}

/** L3: each unit is open, in one lease, on its way back, or counted. */
function checkUnits(server: TestServer, id: string): void {
  const campaign = server.campaigns.get(id)
  if (campaign === undefined || !campaign.isSaved || campaign.phase === 'ended') return
  let out = 0
  for (const lease of server.fleet.book.leases()) out += lease.size - lease.done
  assert.equal(campaign.openUnits + out + campaign.done, units)
}

async function checkEnd(
  world: World,
  server: TestServer,
  id: string,
  workers: readonly SimulatedWorker[],
): Promise<void> {
  const record = await readCampaign(world.database.tables, id)
  assert.equal(record?.ended, true, 'the campaign has ended')
  const state = JSON.parse(record.state) as {
    done: number
    total: number[]
    ended: { why: string }
  }
  assert.deepEqual([state.ended.why, state.done, state.total], ['quota', units, [0, 0, units]])
  const leases = await readClosedLeases(world.database.tables, id, 0, 1_000)
  // Each unit is counted by exactly one lease.
  const counted = new Set<number>()
  for (const { start, done } of leases) {
    for (let unit = start; unit < start + done; unit++) {
      assert.ok(!counted.has(unit), `unit ${unit} is counted twice`)
      counted.add(unit)
    }
  }
  assert.equal(counted.size, units)
  // Everything acknowledged to a worker is there (law 6).
  for (const { acknowledged } of workers) {
    for (const [lease, done] of acknowledged) {
      const number = Number(lease.slice(lease.lastIndexOf('.') + 1))
      const kept = leases.find((each) => each.number === number)
      assert.ok(
        kept !== undefined && kept.done >= done,
        `${lease}: ${done} units were acknowledged`,
      )
    }
  }
  assert.equal(server.fleet.summary().held, 0)
}

test('L1 to L12: every unit is counted once under lost calls, lost commits, failures and restarts', async () => {
  for (let seed = 1; seed <= 40; seed++) {
    try {
      await play(seed)
    } catch (error) {
      throw new Error(`seed ${seed}: ${String(error)}`, { cause: error })
    }
  }
})

test('S118: 500 claims at once over 60 campaigns: quota is kept, workers follow the shares', async () => {
  const world = makeWorld()
  const server = await new TestServer(world, { leasesPerAddress: 1_000 }).start()
  const campaigns = []
  for (let n = 0; n < 60; n++) {
    campaigns.push(await server.create({ name: `c${n}`, units: 1_000, weight: n < 30 ? 1 : 2 }))
  }
  const offers = (await Promise.all(
    Array.from({ length: 500 }, (_, n) => server.claim(`w${n}`)),
  )) as Lease[]
  const ranges = new Set(offers.map(({ work, start }) => `${work.id} ${start}`))
  assert.equal(ranges.size, 500)
  const light = campaigns.slice(0, 30).reduce((sum, each) => sum + each.workers, 0)
  const share = light / 500
  assert.ok(Math.abs(share - 1 / 3) < 0.1 / 3, `${light} of 500 workers are at the lighter half`)
  await server.stop()
})
