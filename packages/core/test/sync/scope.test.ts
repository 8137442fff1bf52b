import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeddleError, isError } from '../../src/errors.ts'
import { Event } from '../../src/sync/event.ts'
import { openScope, withScope } from '../../src/sync/scope.ts'
import { gate, listenersOf, testKernel, turn, watch, withCode } from './support.ts'

/** A child that ends when the test says so. */
function obedient(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  if (signal.aborted) reject(signal.reason)
  else signal.addEventListener('abort', () => reject(signal.reason))
  return promise
}

const forever = (): Promise<never> => new Promise(() => {})

/** The errors of a scope that failed. */
async function errorsOf(ended: Promise<unknown>): Promise<readonly unknown[]> {
  const error = await ended.then(
    () => assert.fail('the scope did not fail'),
    (thrown: unknown) => thrown,
  )
  assert.ok(isError(error, 'HDL_SCOPE_FAILED'), String(error))
  assert.equal(error.details.count, error.errors?.length)
  return error.errors ?? []
}

test('C1: the block ends only when all children have ended', async () => {
  const done: string[] = []
  const slow = gate()
  const block = async (): Promise<void> => {
    await using scope = openScope()
    void scope.start(async () => {
      await slow.promise
      done.push('slow')
    })
    void scope.start(() => done.push('quick'))
    done.push('end of block')
  }
  const running = watch(block())
  await turn()
  assert.equal(running.state, 'pending')
  slow.resolve()
  await turn()
  assert.equal(running.state, 'fulfilled')
  assert.deepEqual(done, ['quick', 'end of block', 'slow'])
})

test('a child starts at once and its result is given', async () => {
  await using scope = openScope()
  let started = false
  const child = scope.start(async () => {
    started = true
    return 42
  })
  assert.equal(started, true)
  assert.equal(await child, 42)
  assert.deepEqual(scope.stats(), { children: 0, shielded: 0, state: 'open', errors: 0 })
})

test('children may start children while the scope is being joined', async () => {
  const order: string[] = []
  const scope = openScope()
  void scope.start(async ({ scope: same }) => {
    await turn()
    void same.start(async () => {
      await turn()
      order.push('grandchild')
    })
    order.push('child')
  })
  await scope.join()
  assert.deepEqual(order, ['child', 'grandchild'])
})

test('C2: a failing child cancels its siblings and the error names it', async () => {
  const scope = openScope({ name: 'page' })
  const sibling = watch(scope.start(({ signal }) => obedient(signal)))
  const failure = new Error('no such table')
  const failing = watch(
    scope.start(
      async () => {
        await turn()
        throw failure
      },
      { name: 'query' },
    ),
  )
  assert.deepEqual(await errorsOf(scope.join()), [failure])
  assert.equal(failing.error, failure)
  const told = sibling.error
  assert.ok(isError(told, 'HDL_CANCELLED'))
  assert.equal(told.details.source, 'sibling-failed')
  assert.equal(told.details.by, 'Scope "page" child query')
  assert.equal(told.details.reason, 'no such table')
  assert.equal(told.cause, failure)
})

test('C3: errors are aggregated in order; obeying the cancellation is not a failure', async () => {
  const scope = openScope()
  const release = gate()
  void scope.start(async ({ signal }) => {
    try {
      await obedient(signal)
    } finally {
      await release.promise
      // oxlint-disable-next-line no-unsafe-finally
      throw new Error('cleanup failed')
    }
  })
  void scope.start(({ signal }) => obedient(signal))
  void scope.start(({ signal }) =>
    obedient(signal).catch(() => {
      throw new DOMException('The operation was aborted', 'AbortError')
    }),
  )
  void scope.start(() => {
    throw new Error('first')
  })
  const ended = scope.join()
  await turn()
  release.resolve()
  const errors = await errorsOf(ended)
  assert.deepEqual(
    errors.map((error) => (error as Error).message),
    ['first', 'cleanup failed'],
  )
})

test('C3: a child that awaits another one fails with the same error, which is counted once', async () => {
  const scope = openScope()
  const failure = new Error('once')
  const first = scope.start(() => Promise.reject(failure))
  void scope.start(() => first)
  assert.deepEqual(await errorsOf(scope.join()), [failure])
})

test('C3: equal primitives that are thrown are several errors', async () => {
  const scope = openScope()
  const both = gate()
  const thrown: unknown = 'text'
  for (let i = 0; i < 2; i++) {
    void scope.start(async () => {
      await both.promise
      throw thrown
    })
  }
  both.resolve()
  assert.deepEqual(await errorsOf(scope.join()), ['text', 'text'])
})

test('C3: a cancellation from elsewhere is a failure like any other (P13)', async () => {
  const scope = openScope()
  const strange = new HeddleError('HDL_CANCELLED', { what: 'something else', source: 'user' })
  void scope.start(() => Promise.reject(strange))
  assert.deepEqual(await errorsOf(scope.join()), [strange])
})

test('C3: when block and child fail, both errors are kept', async () => {
  const inBlock = new Error('in the block')
  const inChild = new Error('in the child')
  await assert.rejects(
    async () => {
      await using scope = openScope()
      void scope.start(() => Promise.reject(inChild))
      throw inBlock
    },
    (error: unknown) => {
      assert.ok(error instanceof Error)
      assert.equal(error.name, 'SuppressedError')
      const both = error as Error & { error: unknown; suppressed: unknown }
      assert.equal(both.suppressed, inBlock)
      assert.ok(isError(both.error, 'HDL_SCOPE_FAILED'))
      assert.deepEqual(both.error.errors, [inChild])
      return true
    },
  )
})

test('cancel ends the scope quietly and names the canceller', async () => {
  const scope = openScope({ name: 'search' })
  const child = watch(scope.start(({ signal }) => obedient(signal)))
  scope.cancel('the user typed on', { by: 'alice' })
  scope.cancel('again')
  await scope.join()
  const error = child.error
  assert.ok(isError(error, 'HDL_CANCELLED'))
  assert.match(error.message, /Scope "search" was cancelled \(user by alice\): the user typed on/)
})

test('C5: nothing starts after the abort, nothing at all after the end', async () => {
  const scope = openScope()
  scope.cancel()
  let ran = false
  const run = (): void => {
    ran = true
  }
  await assert.rejects(scope.start(run), withCode('HDL_CANCELLED'))
  await scope.join()
  await assert.rejects(scope.start(run), withCode('HDL_CLOSED'))
  await assert.rejects(scope.shield(run, { deadline: 1 }), withCode('HDL_CLOSED'))
  assert.equal(ran, false)
  scope.cancel()
  await scope.join()
})

test('the deadline cancels the children and ends the scope with HDL_TIMEOUT', async () => {
  const kernel = testKernel()
  const scope = openScope({ deadline: 100, kernel })
  const child = watch(scope.start(({ signal }) => obedient(signal)))
  const ended = watch(scope.join())
  await kernel.clock.advance(99)
  assert.equal(child.state, 'pending')
  await kernel.clock.advance(1)
  assert.ok(isError(child.error, 'HDL_CANCELLED'))
  assert.equal(child.error.details.source, 'deadline')
  assert.ok(isError(ended.error, 'HDL_TIMEOUT'))
  assert.equal(ended.error.details.limit, 100)
  assert.equal(kernel.clock.pending, 0)
})

test('a failure after the deadline keeps the deadline as its cause', async () => {
  const kernel = testKernel()
  const scope = openScope({ deadline: 100, kernel })
  void scope.start(({ signal }) =>
    obedient(signal).catch(() => {
      throw new Error('cleanup failed')
    }),
  )
  const ended = watch(scope.join())
  await kernel.clock.advance(100)
  assert.ok(isError(ended.error, 'HDL_SCOPE_FAILED'))
  assert.ok(isError(ended.error.cause, 'HDL_TIMEOUT'))
  assert.equal(ended.error.errors?.length, 1)
})

test('the outer signal cancels the children and ends the scope with the same reason', async () => {
  const kernel = testKernel()
  const controller = new AbortController()
  const { signal } = controller
  const scope = openScope({ signal, deadline: 1000, kernel })
  const child = watch(scope.start((context) => obedient(context.signal)))
  const ended = watch(scope.join())
  const reason = new HeddleError('HDL_CANCELLED', { what: 'Run', source: 'drain' })
  controller.abort(reason)
  await turn()
  assert.equal(child.error, reason)
  assert.equal(ended.error, reason)
  assert.equal(kernel.clock.pending, 0)
  assert.equal(listenersOf(signal), 0)

  const late = openScope({ signal, deadline: 1000, kernel })
  await assert.rejects(late.start(forever), withCode('HDL_CANCELLED'))
  await assert.rejects(late.join(), withCode('HDL_CANCELLED'))
  assert.equal(kernel.clock.pending, 0)
})

test('a scope that ends by itself follows its signal and its deadline no longer', async () => {
  const kernel = testKernel()
  const { signal } = new AbortController()
  const scope = openScope({ signal, deadline: 1000, kernel })
  assert.equal(await scope.start(() => 1), 1)
  assert.equal(listenersOf(signal), 1)
  await scope.join()
  assert.equal(listenersOf(signal), 0)
  assert.equal(kernel.clock.pending, 0)
})

test('a scope inside a scope is cancelled with it and loses no error', async () => {
  const outer = openScope()
  const inner = new Error('inner cleanup failed')
  void outer.start(async ({ signal }) => {
    await using scope = openScope({ signal })
    void scope.start((context) =>
      obedient(context.signal).catch(() => {
        throw inner
      }),
    )
  })
  await turn()
  outer.cancel()
  const [failed] = await errorsOf(outer.join())
  assert.ok(isError(failed, 'HDL_SCOPE_FAILED'))
  assert.deepEqual(failed.errors, [inner])
})

test('C4: a child that ignores its signal is reported after the grace, and no longer awaited', async () => {
  const kernel = testKernel()
  const scope = openScope({ grace: 50, kernel })
  const deaf = watch(scope.start(forever, { name: 'deaf' }))
  const ended = watch(scope.join())
  scope.cancel()
  await kernel.clock.advance(49)
  assert.equal(ended.state, 'pending')
  await kernel.clock.advance(1)
  assert.ok(isError(deaf.error, 'HDL_UNRESPONSIVE'))
  assert.match(deaf.error.message, /Scope child deaf did not stop within 50 ms/)
  assert.ok(isError(ended.error, 'HDL_SCOPE_FAILED'))
  assert.deepEqual(ended.error.errors, [deaf.error])
  assert.equal(kernel.clock.pending, 0)
})

test('C4: an abandoned child that acts later changes nothing', async () => {
  const kernel = testKernel()
  const scope = openScope({ grace: 10, kernel })
  const late = gate<string>()
  const child = watch(scope.start(() => late.promise))
  const other = gate<string>()
  void scope.start(() => other.promise)
  scope.cancel()
  const ended = watch(scope.join())
  await kernel.clock.advance(10)
  assert.equal(ended.state, 'rejected')
  late.resolve('too late')
  other.reject(new Error('too late'))
  await turn()
  assert.equal(child.state, 'rejected')
  assert.equal(scope.stats().errors, 2)
})

test('shielded cleanup is not reached by the cancellation, and the scope waits for it', async () => {
  const kernel = testKernel()
  const scope = openScope({ grace: 10, kernel })
  const cleaned = new Event()
  let sawAbort = false
  const child = watch(
    scope.start(async ({ signal }) => {
      try {
        await obedient(signal)
      } finally {
        await scope.shield(
          async (own) => {
            await cleaned.wait()
            sawAbort = own.signal.aborted
          },
          { deadline: 1000 },
        )
      }
    }),
  )
  scope.cancel()
  const ended = watch(scope.join())
  // Longer than the grace: the child is not unresponsive while its cleanup has time left.
  await kernel.clock.advance(500)
  assert.equal(ended.state, 'pending')
  assert.equal(scope.stats().shielded, 1)
  cleaned.set()
  await turn()
  assert.equal(ended.state, 'fulfilled')
  assert.equal(sawAbort, false)
  withCode('HDL_CANCELLED')(child.error)
  assert.equal(kernel.clock.pending, 0)
})

test('C4: the grace starts again when the shielded cleanup has ended', async () => {
  const kernel = testKernel()
  const scope = openScope({ grace: 10, kernel })
  void scope.start(async () => {
    await scope.shield(
      async () => {
        const { promise, resolve } = Promise.withResolvers<void>()
        kernel.clock.setTimer(100, resolve)
        await promise
      },
      { deadline: 200 },
    )
    await forever()
  })
  scope.cancel()
  const ended = watch(scope.join())
  await kernel.clock.advance(109)
  assert.equal(ended.state, 'pending')
  await kernel.clock.advance(1)
  assert.ok(isError(ended.error, 'HDL_SCOPE_FAILED'))
  withCode('HDL_UNRESPONSIVE')(ended.error.errors?.[0])
  assert.equal(kernel.clock.pending, 0)
})

test('a shielded task has its own bound: its signal aborts, then it times out', async () => {
  const kernel = testKernel()
  const scope = openScope({ kernel })
  const work = watch(
    scope.shield(({ signal }) => obedient(signal), { deadline: 30, name: 'cleanup' }),
  )
  const ended = watch(scope.join())
  await kernel.clock.advance(30)
  assert.ok(isError(work.error, 'HDL_TIMEOUT'))
  assert.match(work.error.message, /Scope shielded task cleanup timed out after 30 ms/)
  assert.ok(isError(ended.error, 'HDL_SCOPE_FAILED'))
  assert.deepEqual(ended.error.errors, [work.error])
  assert.equal(kernel.clock.pending, 0)
})

test('C4: a shielded task that ignores its own signal is abandoned after the grace', async () => {
  const kernel = testKernel()
  const scope = openScope({ grace: 10, kernel })
  const work = watch(scope.shield(forever, { deadline: 30 }))
  const ended = watch(scope.join())
  await kernel.clock.advance(39)
  assert.equal(ended.state, 'pending')
  await kernel.clock.advance(1)
  assert.ok(isError(work.error, 'HDL_UNRESPONSIVE'))
  assert.equal(ended.state, 'rejected')
  assert.equal(kernel.clock.pending, 0)
})

test('a shielded task must have a bound, and its result is given', async () => {
  await using scope = openScope()
  for (const deadline of [Infinity, NaN, -1]) {
    await assert.rejects(scope.shield(forever, { deadline }), withCode('HDL_BAD_OPTION'))
  }
  assert.equal(await scope.shield(() => 7, { deadline: 10 }), 7)
})

test('withScope cancels the children when the block throws', async () => {
  const failure = new Error('in the block')
  const told: unknown[] = []
  const errors = await errorsOf(
    withScope(async (scope) => {
      void scope.start(({ signal }) =>
        obedient(signal).catch((error: unknown) => {
          told.push(error)
          throw error
        }),
      )
      await turn()
      throw failure
    }),
  )
  assert.deepEqual(errors, [failure])
  assert.ok(isError(told[0], 'HDL_CANCELLED'))
  assert.equal(told[0].details.source, 'sibling-failed')
})

test('withScope gives the result of the block when everything has ended', async () => {
  const order: string[] = []
  const result = await withScope(async (scope) => {
    void scope.start(async () => {
      await turn()
      order.push('child')
    })
    return 'result'
  })
  assert.equal(result, 'result')
  assert.deepEqual(order, ['child'])
  await assert.rejects(
    withScope((scope) => {
      scope.cancel('changed my mind')
      return obedient(scope.signal)
    }),
    withCode('HDL_CANCELLED'),
  )
})

test('10,000 children that all fail at once: none is lost', async () => {
  const scope = openScope()
  const go = gate()
  for (let i = 0; i < 10_000; i++) {
    void scope.start(async () => {
      await go.promise
      throw new Error(`child ${i}`)
    })
  }
  assert.equal(scope.stats().children, 10_000)
  go.resolve()
  const errors = await errorsOf(scope.join())
  assert.equal(new Set(errors.map((error) => (error as Error).message)).size, 10_000)
})

test('options are checked', () => {
  assert.throws(() => openScope({ deadline: -1 }), withCode('HDL_BAD_OPTION'))
  assert.throws(() => openScope({ grace: NaN }), withCode('HDL_BAD_OPTION'))
})

test("C2, C3, C5: launch() starts a child whose failure is the scope's; later it starts nothing", async () => {
  const scope = openScope({ name: 'page' })
  let signal: AbortSignal | undefined
  assert.equal(
    scope.launch(async (context) => {
      signal = context.signal
      await new Promise((resolve) => context.signal.addEventListener('abort', resolve))
    }),
    true,
  )
  const broken = new Error('broken')
  assert.equal(
    scope.launch(() => Promise.reject(broken)),
    true,
  )
  await assert.rejects(scope.join(), { code: 'HDL_SCOPE_FAILED', errors: [broken] })
  assert.equal(signal?.aborted, true)
  assert.equal(
    scope.launch(() => assert.fail('it has ended')),
    false,
  )
  assert.throws(() => scope.launch('task' as never), { code: 'HDL_BAD_OPTION' })
})
