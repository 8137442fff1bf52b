/**
 * The parts together, in the shape of the job service: a seat before the parse, one job per content,
 * waiters with slots and disconnects, and a store that only counted results reach.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Dispatcher, type AdmittedTask } from '../../src/admission/dispatcher.ts'
import type { Seat } from '../../src/admission/queue.ts'
import { Capacity } from '../../src/capacity/capacity.ts'
import type { RunnerContext } from '../../src/attempts/attempt.ts'
import { Registry } from '../../src/registry/registry.ts'
import { Slots } from '../../src/registry/slots.ts'
import { codeOf, gate, testKernel, turn, watch } from '../sync/support.ts'

interface Ask {
  readonly content: string
  readonly slot?: string
  readonly priority?: number
  readonly client?: AbortSignal
}

class Service {
  readonly kernel = testKernel()
  readonly registry = new Registry<string>({ kernel: this.kernel })
  readonly slots = new Slots()
  readonly dispatcher: Dispatcher
  readonly store = new Map<string, string>()
  readonly runs: { content: string; context: RunnerContext; done: PromiseWithResolvers<string> }[] =
    []
  readonly #jobs = new Map<string, AdmittedTask<string>>()

  constructor(capacity = 8) {
    const permits = new Capacity({ loop: { permits: 1, reserved: 1 } })
    this.dispatcher = new Dispatcher({ kernel: this.kernel, capacity, permits, timeout: 1000 })
  }

  async ask({ content, slot = content, priority = 1, client }: Ask): Promise<string> {
    // A caller that finds a job to share needs no seat of its own.
    using reservation = this.#jobs.has(content) ? undefined : this.dispatcher.reserve({ priority })
    await this.parse()
    using ticket = this.slots.take(slot)
    const answer = this.registry.wait(content, 0, {
      slot: ticket,
      disconnect: client,
      look: () => {
        const value = this.store.get(content)
        return value === undefined ? undefined : { value }
      },
    })
    if (this.registry.active(content, 0) > 0) this.#ensure(content, priority, reservation)
    return await answer
  }

  /** The client's body, which may be slow. */
  parse(): Promise<void> {
    return Promise.resolve()
  }

  #ensure(content: string, priority: number, reservation: Seat | undefined): void {
    const existing = this.#jobs.get(content)
    if (existing !== undefined) {
      reservation?.release()
      if (priority < existing.priority) existing.move(priority)
      return
    }
    const signal = this.registry.gone(content, 0)
    const work = (context: RunnerContext): Promise<string> => {
      const done = gate<string>()
      this.runs.push({ content, context, done })
      return done.promise
    }
    const job = this.dispatcher.submit(work, { reservation, priority, signal, name: content })
    this.#jobs.set(content, job)
    const leave = (): void => {
      if (this.#jobs.get(content) === job) this.#jobs.delete(content)
    }
    job.done.then(
      (value) => {
        leave()
        this.store.set(content, value)
        this.registry.notifySuccess(content, 0, value)
      },
      (error: unknown) => {
        leave()
        this.registry.notifyError(content, 0, error)
      },
    )
  }

  leaves(): void {
    assert.equal(this.registry.size, 0)
    assert.equal(this.slots.size, 0)
    const { queue } = this.dispatcher.stats()
    assert.deepEqual([queue.reserved, queue.queued, queue.running], [0, 0, 0])
    assert.equal(this.kernel.clock.pending, 0)
  }
}

test('S12 S44 identical requests: one computation, every caller answered, also later from the store', async () => {
  // All of them hold a seat until their input is known to be the same.
  const service = new Service(32)
  const all = Array.from({ length: 20 }, (_, i) =>
    service.ask({ content: 'h', slot: `client ${i}` }),
  )
  await turn()
  assert.equal(service.runs.length, 1)
  const { running, reserved } = service.dispatcher.stats().queue
  assert.deepEqual([running, reserved], [1, 0])
  service.runs[0]!.done.resolve('plot')
  assert.deepEqual(new Set(await Promise.all(all)), new Set(['plot']))
  assert.equal(await service.ask({ content: 'h' }), 'plot')
  assert.equal(service.runs.length, 1)
  service.leaves()
})

test('S62 S65 the only client leaves: the work is aborted, nothing is stored, nothing is left', async () => {
  const service = new Service()
  const client = new AbortController()
  const answer = watch(service.ask({ content: 'h', client: client.signal }))
  await turn()
  const { context, done } = service.runs[0]!
  client.abort()
  await turn()
  assert.equal(codeOf(answer.error), 'HDL_CANCELLED')
  assert.ok(context.cancelled)
  done.resolve('too late')
  await turn()
  assert.equal(service.store.size, 0)
  assert.equal(service.registry.stats().outcomes.disconnected, 1)
  service.leaves()
})

test('S63 S64 one of two leaves: the job stays; when both have left before it starts it never does', async () => {
  const service = new Service()
  const busy = service.ask({ content: 'busy' })
  await turn()
  const clients = [new AbortController(), new AbortController()]
  const answers = clients.map(({ signal }, i) =>
    watch(service.ask({ content: 'h', slot: `client ${i}`, client: signal })),
  )
  await turn()
  clients[0]!.abort()
  assert.equal(service.dispatcher.size, 1)
  clients[1]!.abort()
  assert.equal(service.dispatcher.size, 0)
  service.runs[0]!.done.resolve('plot')
  await busy
  assert.deepEqual(
    [service.runs.length, ...answers.map(({ state }) => state)],
    [1, 'rejected', 'rejected'],
  )
  service.leaves()
})

test('a client that comes after all others left gets a new computation, not the aborted one', async () => {
  const service = new Service()
  const client = new AbortController()
  const first = watch(service.ask({ content: 'h', client: client.signal }))
  await turn()
  client.abort()
  await turn()
  const second = watch(service.ask({ content: 'h', priority: 0 }))
  await turn()
  assert.equal(service.runs.length, 2)
  service.runs[1]!.done.resolve('new')
  service.runs[0]!.done.resolve('old')
  await turn()
  assert.deepEqual([first.state, second.value, service.store.get('h')], ['rejected', 'new', 'new'])
  service.leaves()
})

test('S72 S75 S76 a newer request of a slot supersedes the older request of the same slot only', async () => {
  const service = new Service()
  const other = watch(service.ask({ content: 'old', slot: 'bob' }))
  const mine = watch(service.ask({ content: 'old', slot: 'ada' }))
  await turn()
  const newest = watch(service.ask({ content: 'new', slot: 'ada', priority: 0 }))
  await turn()
  assert.equal(codeOf(mine.error), 'HDL_SUPERSEDED')
  assert.deepEqual([other.state, newest.state], ['pending', 'pending'])
  for (const { content, done } of service.runs) done.resolve(content)
  await turn()
  assert.deepEqual([other.value, newest.value], ['old', 'new'])
  service.leaves()
})

test('S39 an interactive request moves the queued job it shares, and uses the reserved slot', async () => {
  const service = new Service()
  const busy = watch(service.ask({ content: 'busy' }))
  const background = watch(service.ask({ content: 'h', slot: 'a', priority: 3 }))
  await turn()
  assert.equal(service.runs.length, 1)
  const urgent = watch(service.ask({ content: 'h', slot: 'b', priority: 0 }))
  await turn()
  assert.deepEqual(
    service.runs.map(({ content }) => content),
    ['busy', 'h'],
  )
  for (const { done } of service.runs) done.resolve('plot')
  await turn()
  assert.deepEqual([busy.value, background.value, urgent.value], ['plot', 'plot', 'plot'])
  service.leaves()
})

test('S41 S43 S50 slow parses cannot overfill the service; after the rush it accepts again', async () => {
  const service = new Service(8)
  const parsed = gate()
  service.parse = () => parsed.promise
  const all = Array.from({ length: 100 }, (_, i) => watch(service.ask({ content: `h${i}` })))
  await turn()
  const refused = all.filter(({ error }) => codeOf(error) === 'HDL_OVERLOADED').length
  assert.equal(refused, 93, 'seven of eight: above 75 % the door is closed')
  parsed.resolve()
  await turn()
  while (service.dispatcher.stats().queue.running > 0) {
    for (const { done } of service.runs) done.resolve('plot')
    await turn()
  }
  assert.equal(all.filter(({ state }) => state === 'fulfilled').length, 7)
  assert.equal(service.dispatcher.stats().queue.rejected, refused)
  assert.equal(await service.ask({ content: 'h0' }), 'plot')
  service.leaves()
})

test('S82 a timeout of the run reaches every waiter with its stage', async () => {
  const service = new Service()
  const answers = ['a', 'b'].map((slot) => watch(service.ask({ content: 'h', slot })))
  await turn()
  await service.kernel.clock.advance(1000)
  for (const { error } of answers) {
    assert.deepEqual((error as { details?: object }).details, {
      what: 'h',
      limit: 1000,
      stage: 'run',
    })
  }
  service.runs[0]!.done.resolve('too late')
  await turn()
  assert.equal(service.store.size, 0)
  service.leaves()
})
