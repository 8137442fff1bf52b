/**
 * Two servers on one PostgreSQL and real workers, through every accident: kill -9 of a server, a server that stands still, kill -9
 * and restart of PostgreSQL. The long form, with 200 clients and `heddle work`: `npm run test:load -- --accidents`.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { openStore } from '@heddle/core/lowlevel'
import { openKeeper, openPostgres } from '@heddle/test-servers'
import { readClosedLeases } from '../../server/src/campaigns/records.ts'
import { fleetTables } from '../../server/src/fleet/fleet-tables.ts'
import { reach } from '../../core/test/kernel/until.ts'
import { Worker, type CampaignUnits } from '../src/index.ts'
import { ServerProcess } from './support/server-process.ts'

const units = 60

/** Lets units through, one for each ticket: the test says how far the work has come. */
class Turnstile {
  #tickets = 0
  readonly #waiting: (() => void)[] = []

  async pass(): Promise<void> {
    if (this.#tickets > 0) return void this.#tickets--
    await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  release(count: number): void {
    for (let left = count; left > 0; left--) {
      const next = this.#waiting.shift()
      if (next === undefined) this.#tickets++
      else next()
    }
  }
}

/** Units that servers have acknowledged. */
class Reports {
  readonly #done = new Map<string, number>()
  #count = 0
  #wanted = Infinity
  #reached = Promise.withResolvers<void>()

  add(lease: string, done: number): void {
    this.#count += done - (this.#done.get(lease) ?? 0)
    this.#done.set(lease, done)
    if (this.#count >= this.#wanted) this.#reached.resolve()
  }

  /** Resolves when there are this many more than now. */
  async more(count: number): Promise<void> {
    this.#wanted = this.#count + count
    this.#reached = Promise.withResolvers()
    await this.#reached.promise
    this.#wanted = Infinity
  }
}

test('S133 C6 L3: work continues through every accident, and each unit is counted exactly once', async () => {
  await using keeper = await openKeeper()
  const postgres = await openPostgres(keeper, { settings: ['fsync=off', 'max_connections=200'] })
  const store = `${postgres.address}?schema=accidents`
  await using one = await new ServerProcess(store).start()
  await using two = await new ServerProcess(store).start()
  const id = await create(one)
  const turnstile = new Turnstile()
  const reports = new Reports()
  const unit = job({ name: 'unit' }, async ({ count }: CampaignUnits) => {
    await turnstile.pass()
    return [count]
  })
  const workers = [0, 1, 2, 3].map(
    (n) =>
      new Worker({
        server: n % 2 === 0 ? `${one.url},${two.url}` : `${two.url},${one.url}`,
        name: `worker-${n}`,
        jobs: [unit],
        concurrency: 1,
        onEvent: (event) => event.kind === 'reported' && reports.add(event.lease, event.done),
      }),
  )
  const ends = workers.map((worker) => worker.run())
  /** Some work is done from here on: whichever server has it. */
  const progress = async (count: number): Promise<void> => {
    const done = reports.more(count)
    turnstile.release(count)
    await done
  }
  await progress(8)

  await one.kill()
  await progress(8)
  await one.start()
  await progress(4)

  two.signal('SIGSTOP')
  await progress(8)
  two.signal('SIGCONT')
  await progress(4)

  await postgres.kill()
  await postgres.start()
  await progress(8)

  turnstile.release(units)
  await reached(() => one.get<{ done: number; total: unknown }>(`/campaigns/${id}`), units)
  for (const worker of workers) await worker.stop()
  for (const end of ends) assert.equal((await end).exitCode, 0)
  await using opened = await openStore(store, { tables: fleetTables })
  const counted: number[] = []
  for (const { start, done } of await readClosedLeases(opened.tables, id, 0, 1_000)) {
    for (let each = start; each < start + done; each++) counted.push(each)
  }
  const expected = Array.from({ length: units }, (_, each) => each)
  assert.deepEqual(
    counted.toSorted((a, b) => a - b),
    expected,
  )
})

/** Asks again while the two servers share the shards between them. */
async function create(server: ServerProcess): Promise<string> {
  const spec = { name: 'accidents', job: 'unit', units, outcomes: ['done'], stale_ms: 600_000 }
  const { id } = await reach(
    () => server.post<Created>('/campaigns', spec),
    ({ id: made, error }) => {
      if (made === undefined) assert.equal(error?.retryable, true, error?.message)
      return made !== undefined
    },
  )
  return id!
}

interface Created {
  readonly id?: string
  readonly error?: { readonly message: string; readonly retryable: boolean }
}

/** Asks until all units are counted: a server that takes over refuses for a moment. */
async function reached(
  ask: () => Promise<{ readonly done?: number; readonly total?: unknown }>,
  all: number,
): Promise<void> {
  const { total } = await reach(ask, ({ done }) => done === all)
  assert.deepEqual(total, [all])
}
