/**
 * Runs random commands against a lock and against a slow, obvious model of it.
 *
 * The model is two lists, the callers inside and the waiting callers in order of arrival, and one function that
 * says which waiting caller may go in next.
 */
import assert from 'node:assert/strict'
import * as fc from 'fast-check'
import type { WaitOptions } from '../../src/kernel/waiters.ts'
import type { Permit } from '../../src/sync/permit.ts'
import {
  codeOf,
  listenersOf,
  testKernel,
  turn,
  watch,
  type TestKernel,
  type Watched,
} from './support.ts'

/** A caller that has asked. `K` says for what. */
export interface Caller<K> {
  readonly id: number
  readonly kind: K
  /** When it asked. */
  readonly since: number
  readonly dueAt: number
  readonly controller: AbortController
  readonly asked: Watched<Permit>
}

export interface Inside<K> {
  readonly caller: Caller<K>
  /** How many reserved permits it holds. */
  readonly reserved: number
}

/** Which waiter enters next, and with how many reserved permits. */
export type Next<K> = (
  inside: readonly Inside<K>[],
  waiting: readonly Caller<K>[],
) => { readonly caller: Caller<K>; readonly reserved: number } | undefined

export interface Subject<K> {
  acquire(kind: K, options: WaitOptions): Promise<Permit>
  tryAcquire(kind: K): Permit | undefined
  /** Compares what the lock says of itself with the model. */
  check(inside: readonly Inside<K>[], waiting: readonly Caller<K>[]): void
}

class Model<K> {
  readonly inside: Inside<K>[] = []
  readonly waiting: Caller<K>[] = []
  readonly refused: { readonly caller: Caller<K>; readonly code: string }[] = []
  readonly next: Next<K>
  asked = 0

  constructor(next: Next<K>) {
    this.next = next
  }

  admit(): void {
    for (;;) {
      const next = this.next(this.inside, this.waiting)
      if (next === undefined) return
      this.waiting.splice(this.waiting.indexOf(next.caller), 1)
      this.inside.push(next)
    }
  }

  refuse(caller: Caller<K>, code: string): void {
    this.waiting.splice(this.waiting.indexOf(caller), 1)
    this.refused.push({ caller, code })
    this.admit()
  }
}

interface Real<K> {
  readonly kernel: TestKernel
  readonly subject: Subject<K>
}

type Command<K> = fc.AsyncCommand<Model<K>, Real<K>>

async function compare<K>(model: Model<K>, { subject, kernel }: Real<K>): Promise<void> {
  await turn()
  for (const { caller, reserved } of model.inside) {
    assert.equal(caller.asked.state, 'fulfilled', `${caller.id} is inside`)
    assert.equal(caller.asked.value?.reserved, reserved)
    assert.equal(listenersOf(caller.controller.signal), 0)
  }
  for (const caller of model.waiting)
    assert.equal(caller.asked.state, 'pending', `${caller.id} waits`)
  for (const { caller, code } of model.refused) assert.equal(codeOf(caller.asked.error), code)
  const hasDeadline = model.waiting.some((caller) => caller.dueAt !== Infinity)
  assert.equal(kernel.clock.pending, Number(hasDeadline), 'one timer for all deadlines, no other')
  subject.check(model.inside, model.waiting)
}

function command<K>(
  name: string,
  run: (model: Model<K>, real: Real<K>) => void | Promise<void>,
  check: (model: Model<K>) => boolean = () => true,
): Command<K> {
  return {
    check,
    run: async (model, real) => {
      await run(model, real)
      await compare(model, real)
    },
    toString: () => name,
  }
}

const pick = <T>(items: readonly T[], index: number): T => items[index % items.length]!

const enter = <K>(kind: K, deadline: number | undefined): Command<K> =>
  command(`enter ${JSON.stringify(kind)} ${deadline}`, (model, { kernel, subject }) => {
    const controller = new AbortController()
    const since = kernel.clock.now()
    const caller: Caller<K> = {
      id: model.asked++,
      kind,
      since,
      dueAt: since + (deadline ?? Infinity),
      controller,
      asked: watch(subject.acquire(kind, { signal: controller.signal, deadline })),
    }
    model.waiting.push(caller)
    model.admit()
  })

const tryEnter = <K>(kind: K): Command<K> =>
  command(`try ${JSON.stringify(kind)}`, (model, { kernel, subject }) => {
    const permit = subject.tryAcquire(kind)
    const caller: Caller<K> = {
      id: model.asked++,
      kind,
      since: kernel.clock.now(),
      dueAt: Infinity,
      controller: new AbortController(),
      asked: { state: 'fulfilled', value: permit, error: undefined },
    }
    model.waiting.push(caller)
    model.admit()
    const isInside = model.inside.some((each) => each.caller === caller)
    assert.equal(permit !== undefined, isInside, 'try goes in exactly when it need not wait')
    if (!isInside) model.waiting.splice(model.waiting.indexOf(caller), 1)
  })

const leave = <K>(index: number): Command<K> =>
  command(
    `leave ${index}`,
    (model) => {
      const one = pick(model.inside, index)
      model.inside.splice(model.inside.indexOf(one), 1)
      one.caller.asked.value?.release()
      one.caller.asked.value?.release()
      model.admit()
    },
    (model) => model.inside.length > 0,
  )

const abort = <K>(index: number): Command<K> =>
  command(
    `abort ${index}`,
    (model) => {
      const caller = pick(model.waiting, index)
      caller.controller.abort()
      model.refuse(caller, 'HDL_CANCELLED')
    },
    (model) => model.waiting.length > 0,
  )

const pass = <K>(milliseconds: number): Command<K> =>
  command(`pass ${milliseconds} ms`, async (model, { kernel }) => {
    await kernel.clock.advance(milliseconds)
    const now = kernel.clock.now()
    const late = model.waiting.filter((caller) => caller.dueAt <= now)
    late.sort((a, b) => a.dueAt - b.dueAt || a.id - b.id)
    for (const caller of late)
      if (model.waiting.includes(caller)) model.refuse(caller, 'HDL_TIMEOUT')
  })

/** Fails with the shortest sequence of commands after which lock and model differ. */
export async function checkLock<K>(
  kinds: fc.Arbitrary<K>,
  make: (kernel: TestKernel) => Subject<K>,
  next: Next<K>,
): Promise<void> {
  const index = fc.nat({ max: 20 })
  const commands = fc.commands<Model<K>, Real<K>, false>(
    [
      fc
        .tuple(kinds, fc.option(fc.integer({ min: 1, max: 50 }), { nil: undefined }))
        .map((of) => enter(...of)),
      kinds.map((kind) => tryEnter(kind)),
      index.map((at) => leave<K>(at)),
      index.map((at) => leave<K>(at)),
      index.map((at) => abort<K>(at)),
      fc.integer({ min: 1, max: 40 }).map((milliseconds) => pass<K>(milliseconds)),
    ],
    { maxCommands: 60, size: 'max' },
  )
  await fc.assert(
    fc.asyncProperty(commands, async (sequence) => {
      const kernel = testKernel()
      const real = { kernel, subject: make(kernel) }
      const model = new Model(next)
      await fc.asyncModelRun(() => ({ model, real }), sequence)

      for (let [caller] = model.waiting; caller !== undefined; [caller] = model.waiting) {
        caller.controller.abort()
        model.refuse(caller, 'HDL_CANCELLED')
      }
      await turn()
      for (const { caller } of model.inside.splice(0)) caller.asked.value?.release()
      await compare(model, real)
      assert.equal(kernel.clock.pending, 0)
    }),
    { numRuns: 150 },
  )
}
