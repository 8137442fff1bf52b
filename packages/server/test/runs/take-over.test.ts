import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeddleError } from '@heddle/core'
import { seededRandom } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { OwnRuns, type OwnRunsOptions } from '../../src/runs/own-runs.ts'
import { RunTakeOver } from '../../src/runs/take-over.ts'
import { Ticker } from '../../src/schedules/ticker.ts'

const { signal } = new AbortController()

/** A server that has searched for a while, and now meets these runs; `answers` gives the outcome of each try. */
async function setUp(left: () => Promise<readonly string[]> | readonly string[]) {
  let isSettled = false
  const clock = new VirtualClock()
  const log: string[] = []
  const tried: string[] = []
  const held = new Set<string>()
  const answers = new Map<string, Error | undefined>()
  const takeOver = new RunTakeOver({
    journal: {
      leftRuns: async () => (isSettled ? left() : []),
      list: () => assert.fail('there is a cheaper way'),
    },
    kernel: { clock, random: seededRandom(1) },
    log: (level, text) => void log.push(`${level}: ${text}`),
    own: {
      has: (id) => held.has(id),
      continue: async (id) => {
        tried.push(id)
        const answer = answers.get(id)
        if (answer !== undefined) throw answer
        return id.startsWith('foreign') ? undefined : 'cloth'
      },
    },
  })
  const look = (): Promise<undefined> => takeOver.look(0, signal)
  for (let second = 0; second < 6; second++) {
    await look()
    await clock.advance(1_000)
  }
  isSettled = true
  return { clock, log, tried, held, answers, look, takeOver }
}

test('U1: a run that another server takes first is left to it, without a word', async () => {
  const { look, tried, log, answers } = await setUp(() => ['a', 'b'])
  answers.set('a', new HeddleError('HDL_LOCKED', { path: 'a', holder: 'another server' }))
  assert.equal(await look(), undefined)
  assert.deepEqual(tried.toSorted(), ['a', 'b'])
  assert.deepEqual(log, ['info: Resumed run b of graph "cloth".'])
})

test('a run that this server holds itself is left alone, although its lease has run out', async () => {
  const { look, tried, held } = await setUp(() => ['mine'])
  held.add('mine')
  await look()
  assert.deepEqual(tried, [])
})

for (const how of ['is late', 'is missing'] as const) {
  test(`U2: when an answer ${how} nothing is taken before servers that live have renewed their leases`, async () => {
    let left: readonly string[] = []
    let isAway = false
    const { clock, look, tried } = await setUp(async () => {
      if (isAway && how === 'is missing') throw new Error('the link is cut')
      if (isAway) await clock.advance(3_001)
      return left
    })
    await look()
    left = ['a']
    isAway = true
    if (how === 'is missing') await assert.rejects(look())
    else await look()
    isAway = false
    if (how === 'is missing') await clock.advance(3_001)
    if (how === 'is missing') await look()
    for (let second = 0; second < 5; second++) {
      assert.deepEqual(tried, [], `${second} s`)
      await clock.advance(1_000)
      if (second < 4) await look()
    }
    await look()
    assert.deepEqual(tried, ['a'])
  })
}

test('U3: a run that cannot be continued here is logged once and not tried again; one of another graph is not logged', async () => {
  const { clock, look, tried, log, answers } = await setUp(() => ['changed', 'foreign'])
  answers.set('changed', new Error('its graph has changed'))
  for (let looks = 0; looks < 100; looks++) {
    await look()
    await clock.advance(1_000)
  }
  assert.deepEqual(tried.toSorted(), ['changed', 'foreign'])
  assert.equal(log.length, 1)
  assert.match(log[0]!, /^warning: Run changed could not be resumed: .*its graph has changed/)
})

test('U5: an interrupted run may be continued until it was left alone, or, on a store that servers do not share, until the first check', async () => {
  const { look, answers, takeOver } = await setUp(() => [
    'a',
    'changed',
    'foreign',
    'locked',
    'busy',
  ])
  answers.set('changed', new Error('its graph has changed'))
  answers.set('locked', new HeddleError('HDL_LOCKED', { path: 'a', holder: 'another server' }))
  answers.set(
    'busy',
    new HeddleError('HDL_STORE_FAILED', { store: 'It', action: 'answer', cause: '' }),
  )
  for (const id of ['a', 'changed', 'foreign']) assert.equal(takeOver.mayContinue(id), true)
  await look()
  const runs = ['a', 'changed', 'foreign', 'locked', 'busy', 'new']
  assert.deepEqual(
    runs.filter((id) => takeOver.mayContinue(id)),
    ['a', 'locked', 'busy', 'new'],
  )
  const alone = new RunTakeOver({
    journal: { list: async () => ({ runs: [], next: undefined }) },
    kernel: { clock: new VirtualClock(), random: seededRandom(1) },
    log: () => undefined,
    own: { has: () => false, continue: async () => undefined },
  })
  assert.equal(alone.mayContinue('a'), true)
  await alone.look(0, signal)
  assert.equal(alone.mayContinue('a'), false)
})

test('U5: the runs of this server count an interrupted run as under way while it may be continued, and no other ended run', async () => {
  const isActive = (state: string, mayContinue: boolean): Promise<boolean> => {
    const overview = async () => ({ state, counts: {} })
    return new OwnRuns({
      journal: { overview },
      kernel: { clock: new VirtualClock(), random: seededRandom(1) },
      mayContinue: () => mayContinue,
    } as unknown as OwnRunsOptions).isActive('a')
  }
  assert.equal(await isActive('interrupted', true), true)
  assert.equal(await isActive('interrupted', false), false)
  assert.equal(await isActive('running', false), true)
  assert.equal(await isActive('finished', true), false)
  assert.equal(await isActive('cancelled', true), false)
})

test('U4: a run that is left again and again waits longer each time', async () => {
  const { clock, look, tried } = await setUp(() => ['a'])
  const at: number[] = []
  for (let second = 0; second <= 31; second++) {
    const before = tried.length
    await look()
    if (tried.length > before) at.push(second)
    await clock.advance(1_000)
  }
  assert.deepEqual(at, [0, 1, 3, 7, 15, 31])
})

for (const code of ['HDL_DRAINING', 'HDL_OVERLOADED'] as const) {
  test(`${code}: the rest of a check is left to other servers, and to the next check`, async () => {
    const { look, tried, log, answers } = await setUp(() => ['a', 'b', 'c'])
    const refused = new HeddleError(code, { what: 'The server' })
    for (const id of ['a', 'b', 'c']) answers.set(id, refused)
    await look()
    assert.equal(tried.length, 1)
    answers.clear()
    await look()
    assert.equal(new Set(tried).size, 3)
    assert.ok(log.every((line) => line.startsWith('info')))
  })
}

interface Held {
  holder: string
  epoch: number
}

/**
 * Servers in virtual time that hold runs by leases, are killed, and whose link to the database is cut, alone or together.
 * The real code decides; the journal is a model of the one on PostgreSQL: lease, epoch, one taker.
 */
class Cluster {
  readonly clock = new VirtualClock()
  readonly runs = new Map<string, Held>()
  readonly untilOf = new Map<string, number>()
  readonly cut = new Set<string>()
  readonly dead = new Set<string>()
  /** Take-overs from a server that lives and whose link was not cut on its own. */
  readonly thefts: string[] = []
  readonly aloneUntil = new Map<string, number>()
  readonly #tickers: Ticker[] = []
  readonly #seed: number

  constructor(seed: number, servers: readonly string[]) {
    this.#seed = seed
    for (const server of servers) this.#start(server)
  }

  #ask<T>(server: string, answer: () => T): T {
    if (!this.cut.has(server) && !this.dead.has(server)) return answer()
    throw new HeddleError('HDL_STORE_FAILED', { store: 'It', action: 'answer', cause: 'cut' })
  }

  isHeld(holder: string): boolean {
    return (this.untilOf.get(holder) ?? -Infinity) > this.clock.now()
  }

  #start(server: string): void {
    const { clock } = this
    const random = seededRandom(this.#seed + server.length)
    const renew = (): void => {
      if (this.dead.has(server)) return
      if (!this.cut.has(server)) this.untilOf.set(server, clock.now() + 6_000)
      clock.setTimer(2_000, renew)
    }
    renew()
    const takeOver = new RunTakeOver({
      kernel: { clock, random },
      log: () => undefined,
      journal: {
        list: () => assert.fail(),
        leftRuns: async () =>
          this.#ask(server, () =>
            [...this.runs].filter(([, { holder }]) => !this.isHeld(holder)).map(([id]) => id),
          ),
      },
      own: {
        has: (id) => this.runs.get(id)!.holder === server,
        continue: async (id) =>
          this.#ask(server, () => {
            const run = this.runs.get(id)!
            if (this.isHeld(run.holder)) {
              throw new HeddleError('HDL_LOCKED', { path: id, holder: run.holder })
            }
            const wasAlone = (this.aloneUntil.get(run.holder) ?? -Infinity) > clock.now() - 6_000
            if (!this.dead.has(run.holder) && !wasAlone) {
              this.thefts.push(`${clock.now()}: ${server} took ${id} of ${run.holder}`)
            }
            this.runs.set(id, { holder: server, epoch: run.epoch + 1 })
            return 'cloth'
          }),
      },
    })
    const tables = { now: async () => this.#ask(server, () => clock.now()) }
    const log = (): undefined => undefined
    const ticker = new Ticker({ parts: [takeOver], tables, clock, log, every: 1_000 })
    this.#tickers.push(ticker)
    clock.setTimer(random.next() * 1_000, () => {
      ticker.start().catch(assert.fail)
    })
  }

  async stop(): Promise<void> {
    for (const ticker of this.#tickers) await ticker.stop({ deadline: 0 })
  }
}

test('C5, 200 seeds: runs of killed servers are continued within ttl + 3 s, and none is taken from a server that lives', async () => {
  for (let seed = 1; seed <= 200; seed++) {
    const random = seededRandom(seed)
    const names = ['a', 'bb', 'ccc']
    const cluster = new Cluster(seed, names)
    for (let n = 0; n < 6; n++) {
      cluster.runs.set(`run ${n}`, { holder: names[n % 3]!, epoch: 1 })
    }
    const { clock, dead, cut } = cluster
    let calmSince = 0
    for (let step = 0; step < 6; step++) {
      await clock.advance(Math.floor(random.next() * 5_000))
      const chance = random.next()
      if (chance < 0.3) {
        // The database is away for all servers, perhaps for longer than a lease.
        for (const name of names) cut.add(name)
        await clock.advance(Math.floor(random.next() * 15_000))
        cut.clear()
        calmSince = clock.now() + 11_000
      } else if (chance < 0.5 && dead.size < 2) {
        dead.add(names.find((name) => !dead.has(name))!)
        // After an outage it waits for renewals first (U2), and a failed check is repeated after 5 s.
        await clock.advance(clock.now() < calmSince ? 20_000 : 9_000)
        const orphans = [...cluster.runs].filter(([, { holder }]) => dead.has(holder))
        assert.deepEqual(orphans, [], `seed ${seed}: within ttl + 3 s`)
      } else if (chance < 0.7) {
        const name = names[Math.floor(random.next() * 3)]!
        const away = Math.floor(random.next() * 9_000)
        cut.add(name)
        cluster.aloneUntil.set(name, clock.now() + away)
        await clock.advance(away)
        cut.delete(name)
        calmSince = clock.now() + 11_000
      }
    }
    assert.deepEqual(cluster.thefts, [], `seed ${seed}`)
    await cluster.stop()
  }
})
