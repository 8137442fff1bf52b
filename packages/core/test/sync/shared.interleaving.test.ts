import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { codeOf, gate, testKernel, turn, watch } from './support.ts'
import { Event } from '../../src/sync/event.ts'
import { Mutex } from '../../src/sync/mutex.ts'
import { Shared } from '../../src/sync/shared.ts'
import { explore, type Exploration, type Program, type World } from './interleavings.ts'

interface Resource {
  readonly id: number
  state: 'open' | 'closing' | 'closed'
}

/** What users of a cache of resources do: come, use the value, leave. */
interface Cache {
  enter(key: string, signal: AbortSignal): Promise<{ value: Resource; leave: () => Promise<void> }>
  /** Whether something is left for any key. */
  isEmpty(): boolean
}

interface Hooks {
  open(key: string): Promise<Resource>
  close(resource: Resource, key: string): Promise<void>
}

type CacheKind = (hooks: Hooks) => Cache

const ours: CacheKind = (hooks) => {
  const kernel = testKernel()
  const shared = new Shared<string, Resource>({ ...hooks, kernel })
  return {
    enter: async (key, signal) => {
      const lease = await shared.use(key, { signal, deadline: 1000 })
      return { value: lease.value, leave: () => lease[Symbol.asyncDispose]() }
    },
    isEmpty: () => shared.stats().keys === 0 && kernel.clock.pending === 0,
  }
}

/**
 * The cache of seed 003, before its repair: value, resource, lock and users of a key live in four
 * maps and change at different moments. `runContext` is the task that holds the resource.
 */
class NaiveCache implements Cache {
  readonly values = new Map<string, Resource>()
  readonly resources = new Map<string, Event>()
  readonly locks = new Map<string, Mutex>()
  readonly users = new Map<string, number>()
  readonly #hooks: Hooks

  constructor(hooks: Hooks) {
    this.#hooks = hooks
  }

  async enter(
    key: string,
    signal: AbortSignal,
  ): Promise<{ value: Resource; leave: () => Promise<void> }> {
    let lock = this.locks.get(key)
    if (lock === undefined) this.locks.set(key, (lock = new Mutex()))
    using _ = await lock.acquire({ signal })
    let value = this.values.get(key)
    if (value === undefined) {
      if (this.resources.has(key)) throw new Error('RuntimeError: resource is still there')
      const noMoreUsers = new Event()
      this.resources.set(key, noMoreUsers)
      value = await this.#runContext(key, noMoreUsers)
    }
    this.users.set(key, (this.users.get(key) ?? 0) + 1)
    return { value, leave: () => this.#leave(key) }
  }

  async #leave(key: string): Promise<void> {
    const left = this.users.get(key)! - 1
    if (left > 0) {
      this.users.set(key, left)
      return
    }
    this.users.delete(key)
    this.resources.get(key)?.set()
    this.locks.delete(key)
  }

  async #runContext(key: string, noMoreUsers: Event): Promise<Resource> {
    let value: Resource
    try {
      value = await this.#hooks.open(key)
    } catch (error) {
      this.resources.delete(key)
      throw error
    }
    this.values.set(key, value)
    void noMoreUsers.wait().then(async () => {
      this.values.delete(key)
      await this.#hooks.close(value, key)
      this.resources.delete(key)
    })
    return value
  }

  isEmpty(): boolean {
    return this.values.size + this.resources.size + this.locks.size + this.users.size === 0
  }
}

const naive: CacheKind = (hooks) => new NaiveCache(hooks)

// (a) The interleaving of seed 003, step by step.

/** Steps 1 to 10: A has come, used and left; the value is gone, the close is under way. */
async function untilTheWindow(kind: CacheKind) {
  const opens: PromiseWithResolvers<void>[] = []
  const closes: PromiseWithResolvers<void>[] = []
  const made: Resource[] = []
  const cache = kind({
    open: async () => {
      const step = gate()
      opens.push(step)
      await step.promise
      const resource: Resource = { id: made.length + 1, state: 'open' }
      made.push(resource)
      return resource
    },
    close: async (resource) => {
      resource.state = 'closing'
      const step = gate()
      closes.push(step)
      await step.promise
      resource.state = 'closed'
    },
  })
  const { signal } = new AbortController()

  // [Task A] 1. acquires lock  2. cache miss, allocates resources
  const a = watch(cache.enter('key', signal))
  await turn()
  assert.equal(opens.length, 1)
  // [Task A] 3. releases lock  4. yields to caller
  opens[0]!.resolve()
  await turn()
  assert.equal(a.value?.value.id, 1)
  // [Task A] 5. caller exits  6. users to 0, sets no_more_users  7. pops lock
  const left = watch(a.value.leave())
  // [run_ctx] 8. wakes  9. values.pop(ctx_key)  10. __aexit__, checkpoint
  await turn()
  assert.equal(made[0]!.state, 'closing')
  assert.equal(closes.length, 1)
  return { cache, signal, opens, closes, made, left }
}

test('seed 003: exact interleaving, steps 1 to 15, is harmless', async () => {
  const { cache, signal, opens, closes, made, left } = await untilTheWindow(ours)

  // [Task B] 11. no new lock: B finds the slot of the key, which outlives the resource in it.
  const b = watch(cache.enter('key', signal))
  await turn()
  // [Task B] 12. does not go in, 13. misses no value, 14. and the resource is still being closed:
  assert.equal(b.state, 'pending')
  assert.equal(opens.length, 1, 'nothing is opened beside the resource that is still there')
  assert.equal(cache.isEmpty(), false)

  // The close ends; only then a new resource is opened, for B.
  closes[0]!.resolve()
  await turn()
  assert.equal(left.state, 'fulfilled')
  assert.equal(made[0]!.state, 'closed')
  assert.equal(opens.length, 2)
  opens[1]!.resolve()
  await turn()
  // 15. no error: B has a resource of its own, and it is alive.
  assert.equal(b.error, undefined)
  assert.deepEqual(b.value?.value, { id: 2, state: 'open' })

  const gone = watch(b.value.leave())
  await turn()
  closes[1]!.resolve()
  await turn()
  assert.equal(gone.state, 'fulfilled')
  assert.equal(cache.isEmpty(), true)
})

test('seed 003: exact interleaving, steps 1 to 15, breaks the cache it was found in', async () => {
  let cache: NaiveCache | undefined
  const { signal } = await untilTheWindow((hooks) => (cache = new NaiveCache(hooks)))
  assert.ok(cache !== undefined)
  assert.equal(cache.locks.has('key'), false, '7. the lock is gone')
  assert.equal(cache.values.has('key'), false, '9. the value is gone')
  assert.equal(cache.resources.has('key'), true, '14. the resource is still there')

  const b = watch(cache.enter('key', signal))
  await turn()
  assert.match(String(b.error), /RuntimeError: resource is still there/)
})

// (b) All interleavings up to a bound.

interface Setup {
  readonly users: number
  /** How many of them may abort while they wait. */
  readonly aborting: number
  /** How many opens, and how many closes, may fail. */
  readonly failures?: number
  /** How often each user comes. */
  readonly rounds?: number
}

function program(kind: CacheKind, { users, aborting, failures = 0, rounds = 1 }: Setup) {
  return (world: World): Program => {
    const resources: Resource[] = []
    let opening = 0
    let closeErrors = 0
    let openFailures = 0
    const mayFail = (count: number): readonly ('ok' | 'fail')[] =>
      count <= failures ? ['ok', 'fail'] : ['ok']

    const cache = kind({
      open: async () => {
        const id = resources.length + opening + 1
        opening++
        try {
          assert.ok(
            opening === 1 && resources.every((resource) => resource.state === 'closed'),
            `H1: open ${id} began beside another resource of the key`,
          )
          if ((await world.step(`open ${id}`, mayFail(id))) === 'fail') {
            openFailures++
            throw new Error('open failed')
          }
          const resource: Resource = { id, state: 'open' }
          resources.push(resource)
          return resource
        } finally {
          opening--
        }
      },
      close: async (resource) => {
        assert.equal(resource.state, 'open', `H1: resource ${resource.id} is closed twice`)
        resource.state = 'closing'
        const outcome = await world.step(`close ${resource.id}`, mayFail(resource.id))
        resource.state = 'closed'
        if (outcome === 'fail') throw new Error('close failed')
      },
    })

    const outcomes: (string | undefined)[] = []
    const using = new Map<number, Resource>()
    const visit = async (id: number): Promise<string> => {
      await world.step(`enter ${id}`)
      const controller = new AbortController()
      const abort = id < aborting ? world.optional(`abort ${id}`) : undefined
      void abort?.promise.then(() => controller.abort())
      let entered: Awaited<ReturnType<Cache['enter']>>
      try {
        entered = await cache.enter('key', controller.signal)
      } catch (error) {
        if (codeOf(error) === 'HDL_CANCELLED' && controller.signal.aborted) return 'aborted'
        if (error instanceof Error && error.message === 'open failed') return 'open failed'
        throw error
      } finally {
        abort?.withdraw()
      }
      using.set(id, entered.value)
      await world.step(`leave ${id}`)
      using.delete(id)
      try {
        await entered.leave()
      } catch (error) {
        if (codeOf(error) !== 'HDL_CLOSE_FAILED') throw error
        closeErrors++
      }
      return 'used'
    }
    const user = async (id: number): Promise<string> => {
      let last = ''
      for (let round = 0; round < rounds; round++) last = await visit(id)
      return last
    }
    let crash: Error | undefined
    for (let id = 0; id < users; id++) {
      user(id).then(
        (outcome) => {
          outcomes[id] = outcome
        },
        (error: unknown) => {
          crash ??= error as Error
        },
      )
    }

    return {
      check: () => {
        if (crash !== undefined) throw crash
        for (const [id, resource] of using) {
          assert.equal(
            resource.state,
            'open',
            `user ${id} uses a resource that is ${resource.state}`,
          )
        }
        assert.ok(new Set(using.values()).size <= 1, 'H1: two resources of one key are in use')
      },
      end: () => {
        assert.deepEqual(
          resources.filter((resource) => resource.state !== 'closed'),
          [],
          'everything that was opened is closed',
        )
        for (let id = 0; id < users; id++) {
          assert.ok(outcomes[id] !== undefined, `user ${id} is still waiting`)
          if (id >= aborting)
            assert.notEqual(outcomes[id], 'aborted', 'H5: a caller that aborts leaves alone')
        }
        if (openFailures === 0) assert.equal(outcomes.includes('open failed'), false)
        assert.ok(closeErrors <= failures)
        assert.ok(cache.isEmpty(), 'H4: nothing is left')
      },
    }
  }
}

function report(context: TestContext, { schedules, failure }: Exploration): void {
  context.diagnostic(`${schedules} schedules`)
  if (failure === undefined) return
  context.diagnostic(`failed in: ${failure.trace.join(', ')}`)
}

const setups: readonly (Setup & { readonly sameTurn?: boolean; readonly bound: number })[] = [
  { users: 2, aborting: 2, failures: 2, bound: 20_000 },
  { users: 2, aborting: 2, failures: 1, sameTurn: true, bound: 20_000 },
  { users: 2, aborting: 1, rounds: 2, bound: 20_000 },
  { users: 3, aborting: 0, failures: 1, bound: 20_000 },
  { users: 3, aborting: 3, bound: 20_000 },
  { users: 3, aborting: 1, sameTurn: true, bound: 200_000 },
]

for (const { bound, sameTurn = false, ...setup } of setups) {
  const { users, aborting, failures = 0, rounds = 1 } = setup
  const title = `${users} users, ${aborting} aborting, ${failures} failing, ${rounds} rounds${sameTurn ? ', two in one turn' : ''}`
  test(`H1 to H5 hold in every interleaving: ${title}`, async (context) => {
    const exploration = await explore(program(ours, setup), { bound, sameTurn })
    report(context, exploration)
    if (exploration.failure !== undefined) throw exploration.failure.error
    assert.ok(exploration.schedules > 10)
  })
}

// (c) The explorer can fail.

test('the explorer finds the race of seed 003 in the cache it was found in', async (context) => {
  const exploration = await explore(program(naive, { users: 2, aborting: 0 }), { bound: 1000 })
  report(context, exploration)
  assert.match(String(exploration.failure?.error), /RuntimeError: resource is still there/)
})

test('the explorer finds a cache that closes without waiting for the other users', async (context) => {
  const forgetful: CacheKind = (hooks) => {
    const cache = new NaiveCache(hooks)
    return {
      isEmpty: () => cache.isEmpty(),
      enter: async (key, signal) => {
        const entered = await cache.enter(key, signal)
        cache.users.set(key, 1)
        return entered
      },
    }
  }
  const exploration = await explore(program(forgetful, { users: 2, aborting: 0 }), { bound: 1000 })
  report(context, exploration)
  assert.match(String(exploration.failure?.error), /uses a resource that is closing/)
})
