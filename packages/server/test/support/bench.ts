/** A service without HTTP, on a clock that the test moves. */
import assert from 'node:assert/strict'
import { VirtualClock } from '@heddle/core/testing'
import {
  Capacity,
  Dispatcher,
  loopPlace,
  openCache,
  openJournal,
  openStore,
  Shards,
  shardOf,
  seededRandom,
  type Journal,
  type OpenStore,
  type ParentVersion,
  type PermitOptions,
} from '@heddle/core/lowlevel'
import { commonTenant } from '../../src/http/caller.ts'
import { handleOf } from '../../src/jobs/handle.ts'
import type { AcknowledgedWork } from '../../src/jobs/ledger.ts'
import { jobTable } from '../../src/jobs/job-table.ts'
import { JobHistory, type History } from '../../src/jobs/job-history.ts'
import { ResultStore, type Prepared, type Stored } from '../../src/jobs/result-store.ts'
import { JobService } from '../../src/jobs/service.ts'
import { StoreLedger, type StoreLedgerOptions } from '../../src/jobs/store-ledger.ts'
import type { ServedJob } from '../../src/jobs/served-job.ts'
import { isEncoded } from '../../src/jobs/encoded.ts'
import type { Answer as Sent, Asking as Asked } from '../../src/jobs/waiting.ts'

export interface BenchOptions {
  /** Permits of the loop, for both stages. */
  readonly loop?: number | PermitOptions
  readonly capacity?: number
  readonly itemCapacity?: number
  readonly queue?: number
  readonly prepare?: number
  readonly item?: number
  readonly seed?: number
  /** The journal of an earlier bench: this one is the server after the restart. */
  readonly journal?: Journal
  /** The store of an earlier bench, with everything it has acknowledged. */
  readonly database?: OpenStore
  /** False: only jobs with a history become runs, as in a server. */
  readonly isTold?: boolean
  readonly ledger?: (options: StoreLedgerOptions) => StoreLedger
}

type OpenWork = Omit<Awaited<ReturnType<OpenStore['openJobs']>>[number], 'input'> & {
  readonly work: AcknowledgedWork
}

/** Acknowledged before the server started. */
export interface Acknowledged {
  readonly work: AcknowledgedWork
  /** How many servers have died while it was running. */
  readonly crashes?: number
}

/** A store in which another server, which is gone, has acknowledged this. */
export async function storeWith(found: readonly Acknowledged[]): Promise<OpenStore> {
  const store = await openStore('memory')
  await store.renew('earlier', 60_000)
  const grants = await store.acquire('earlier', 256)
  await store.openSession('earlier', 'earlier/1')
  for (const [index, { work, crashes = 0 }] of found.entries()) {
    const handle = `${work.handle} run${index}`
    const input = new TextEncoder().encode(JSON.stringify(work))
    const { job, version } = work
    const crash = (count: number) =>
      [
        { kind: 'job-started', handle },
        { kind: 'job-interrupted', handle, setAside: count >= 2 },
      ] as const
    const rows = [
      { kind: 'job-acknowledged', handle, job, version, input } as const,
      ...Array.from({ length: crashes }, (_, count) => crash(count)).flat(),
    ]
    const grant = grants.find(({ shard }) => shard === shardOf(work.handle))!
    await store.commit('earlier/1', index + 1, [{ ...grant, rows }])
  }
  await store.release('earlier', grants)
  await store.renew('earlier', 0)
  return store
}

/** The answer of the service, with the value of the result. */
export interface Answer extends Omit<Sent, 'result'> {
  readonly result?: { readonly value: unknown }
}

export interface Asking extends Partial<Asked> {
  readonly priority?: number
  readonly force?: boolean
  readonly index?: number
}

/** A store that takes as long as the test says. */
export class HeldStore extends ResultStore {
  /** Whatever it is asked to do waits for this. */
  hold: Promise<unknown> | undefined
  /** Waited for at each call. */
  pace: () => Promise<unknown> = () => Promise.resolve(this.hold)
  /** Called with each value to keep. */
  onKeep: (value: unknown) => void = () => undefined

  override async prepared(
    ...args: Parameters<ResultStore['prepared']>
  ): ReturnType<ResultStore['prepared']> {
    const [, options] = args
    await this.pace()
    options?.signal?.throwIfAborted()
    return super.prepared(...args)
  }

  override async item(...args: Parameters<ResultStore['item']>): ReturnType<ResultStore['item']> {
    await this.pace()
    return super.item(...args)
  }

  override async keepPrepared(
    handle: string,
    prepared: Prepared,
  ): Promise<ParentVersion | undefined> {
    this.onKeep(valueOf(prepared.value))
    await this.pace()
    return super.keepPrepared(handle, prepared)
  }

  override async keepItem(...args: Parameters<ResultStore['keepItem']>): Promise<void> {
    this.onKeep(valueOf(args[2]))
    await this.pace()
    return super.keepItem(...args)
  }
}

export class Bench {
  readonly clock = new VirtualClock()
  readonly service: JobService
  readonly store: HeldStore
  readonly prepare: Dispatcher
  readonly items: Dispatcher
  readonly journal: Journal
  readonly database: OpenStore
  readonly ledger: StoreLedger
  readonly shards: Shards
  readonly problems: string[] = []
  readonly #jobs: ReadonlyMap<string, ServedJob>
  #asked = 0

  private constructor(
    jobs: readonly unknown[],
    store: HeldStore,
    journal: Journal,
    database: OpenStore,
    clock: VirtualClock,
    options: BenchOptions,
  ) {
    const kernel = { clock, random: seededRandom(options.seed ?? 1) }
    const permits = new Capacity({ loop: options.loop ?? 2, kernel })
    this.clock = clock
    this.store = store
    this.journal = journal
    this.#jobs = jobTable(jobs)
    this.prepare = new Dispatcher({
      name: 'The first stage',
      stage: 'prepare',
      capacity: options.capacity ?? 32,
      interactive: 'full',
      queueTimeout: options.queue,
      timeout: options.prepare,
      permits,
      kernel,
    })
    this.items = new Dispatcher({
      name: 'The second stage',
      stage: 'item',
      capacity: options.itemCapacity ?? 32,
      interactive: 'full',
      timeout: options.item,
      permits,
      kernel,
    })
    this.database = database
    this.shards = new Shards({ server: 'bench', database, kernel, isAlone: true })
    const onProblem = (what: string, error: unknown): void =>
      void this.problems.push(`${what}: ${String(error)}`)
    const notable = new JobHistory({ journal, kernel, onProblem })
    // Tests also read the rows of jobs that succeed without a log.
    const history = {
      of: (...args: Parameters<JobHistory['of']>): History => {
        const made = notable.of(...args)
        if (options.isTold !== false) made.tell()
        return made
      },
    }
    const { shards } = this
    const parts = { shards, database, kernel, jobs: this.#jobs, history, onProblem }
    this.ledger = options.ledger?.(parts) ?? new StoreLedger(parts)
    this.service = new JobService({
      jobs: this.#jobs,
      store,
      ledger: this.ledger,
      placesOf: () => ({ loop: loopPlace }),
      onJobLog: () => undefined,
      prepare: this.prepare,
      items: this.items,
      kernel,
      onProblem,
    })
    this.ledger.connect(this.service)
  }

  static async open(jobs: readonly unknown[], options: BenchOptions = {}): Promise<Bench> {
    const clock = new VirtualClock()
    const kernel = { clock, random: seededRandom(options.seed ?? 1) }
    const store = new HeldStore(await openCache<Stored>({ name: 'Results', kernel }))
    const journal = options.journal ?? (await openJournal('memory', { kernel }))
    const database = options.database ?? (await openStore('memory', { kernel }))
    const bench = new Bench(jobs, store, journal, database, clock, options)
    await bench.shards.start()
    await bench.ledger.acknowledged.waitRead(256)
    return bench
  }

  /** Acknowledged jobs that have not ended, oldest first. */
  async open(): Promise<readonly OpenWork[]> {
    const all = Array.from({ length: 256 }, (_, shard) => shard)
    const found = await this.database.openJobs(all)
    return found.map(({ input, ...rest }) => ({
      ...rest,
      work: JSON.parse(new TextDecoder().decode(input)) as AcknowledgedWork,
    }))
  }

  handle(name: string, input: unknown, tenant = commonTenant): string {
    const { version, isShared } = this.#jobs.get(name)!
    const owner = isShared || tenant === commonTenant ? undefined : tenant
    return handleOf({ name, version, tenant: owner }, input)
  }

  /** Like POST with `?wait`. */
  async compute(name: string, input: unknown, asking: Asking = {}): Promise<Answer> {
    return decoded(
      this.service.compute(
        this.#submission(name, input, asking),
        asking.index ?? 0,
        this.#caller(asking),
      ),
    )
  }

  /** Like POST without `?wait`. */
  async acknowledge(name: string, input: unknown, asking: Asking = {}): Promise<Answer> {
    return decoded(
      this.service.acknowledge(
        this.#submission(name, input, asking),
        asking.index ?? 0,
        this.#caller(asking),
      ),
    )
  }

  /** As GET. */
  async result(handle: string, asking: Asking = {}): Promise<Answer> {
    return decoded(this.service.results.read(handle, asking.index ?? 0, this.#caller(asking)))
  }

  /** Drains like the server: the deadline is on its clock. */
  async drain(deadline: number): Promise<{ readonly isClean: boolean }> {
    const enough = new AbortController()
    const timer = this.clock.setTimer(deadline, () => enough.abort())
    const drained = await this.service.drain(enough.signal)
    timer.cancel()
    return drained
  }

  #submission(
    name: string,
    input: unknown,
    { priority = 1, force = false, tenant = commonTenant }: Asking,
  ) {
    const handle = this.handle(name, input, tenant)
    return { ...this.service.admit(name, priority, tenant), input, handle, priority, force }
  }

  #caller(asking: Asking): Asked {
    return {
      tenant: asking.tenant ?? commonTenant,
      request: asking.request ?? `request ${++this.#asked}`,
      slot: asking.slot,
      disconnect: asking.disconnect ?? new AbortController().signal,
      deadline: asking.deadline ?? 600_000,
      wait: asking.wait ?? 300_000,
    }
  }

  /** After everything has ended: no work, seat, request, entry or timer is left, and all are accounted for. */
  assertNothingLeft(): void {
    const {
      works,
      requests,
      slots,
      outcomes: ends,
      registry,
      prepare,
      items,
    } = this.service.stats()
    const seats = [prepare, items].flatMap(({ queue, stopping }) => [
      queue.reserved,
      queue.queued,
      queue.running,
      stopping,
    ])
    assert.deepEqual(
      { works, requests, slots, waiting: registry.active, keys: registry.keys, seats },
      { works: 0, requests: 0, slots: 0, waiting: 0, keys: 0, seats: seats.map(() => 0) },
    )
    // The lease of its shards is renewed one day; jobs that were put back are tried again in a moment, and those waits
    // share a timer.
    const { putBack } = this.ledger.acknowledged.stats()
    assert.equal(this.clock.pending, 1 + Math.min(1, putBack), 'timers')
    const sum = Object.values(ends).reduce((a, b) => a + b, 0)
    assert.equal(sum, registry.submitted, 'outcomes of requests')
    assert.ok(ends.timeout >= 0 && ends.pending >= 0, 'a caller that got "pending" had waited')
    for (const { outcomes, submitted } of [prepare, items]) {
      assert.equal(
        Object.values(outcomes).reduce((a, b) => a + b, 0),
        submitted,
        'outcomes of tasks',
      )
    }
  }
}

function valueOf(stored: unknown): unknown {
  if (!isEncoded(stored)) return stored
  return JSON.parse(Buffer.from(stored.bytes).toString()) as unknown
}

async function decoded(sent: Promise<Sent>): Promise<Answer> {
  const { result, ...answer } = await sent
  return result === undefined ? answer : { ...answer, result: { value: valueOf(result) } }
}
