import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { outcomes, type Outcome } from '../../src/registry/outcomes.ts'
import { Registry, type RegistryRequest } from '../../src/registry/registry.ts'
import { Slots, type SlotTicket } from '../../src/registry/slots.ts'
import { listenersOf, testKernel, turn } from './support.ts'

const handle = fc.constantFrom('a', 'b', 'c')
const index = fc.constantFrom(0, -1)
/** Which of the requests made so far, counted from the last. */
const recent = fc.nat({ max: 12 })

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('open' as const),
      handle,
      index,
      deadline: fc.option(fc.integer({ min: 1, max: 30 }), { nil: undefined }),
      slot: fc.option(fc.constantFrom('s', 't'), { nil: undefined }),
      look: fc.constantFrom('none', 'found', 'late', 'nothing'),
    }),
  },
  fc.record({
    do: fc.constantFrom('success' as const, 'error' as const),
    handle,
    index,
    id: fc.option(fc.integer({ min: 1, max: 12 }), { nil: undefined }),
  }),
  fc.record({ do: fc.constantFrom('signal' as const, 'disconnect' as const), of: recent }),
  fc.record({ do: fc.constant('cancel' as const), of: recent }),
  fc.record({ do: fc.constant('cancelHandle' as const), handle }),
  fc.record({ do: fc.constant('advance' as const), by: fc.integer({ min: 1, max: 20 }) }),
)

/** What the model knows of a request. */
interface Modelled {
  readonly handle: string
  readonly index: number
  readonly request: RegistryRequest<number>
  readonly signal: AbortController
  readonly disconnect: AbortController
  readonly slot: SlotTicket | undefined
  readonly dueAt: number
  expected: Outcome | undefined
}

const limit = 4

test('I1 I2 I3 I4: any sequence of events gives each request the outcome of the first', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const kernel = testKernel()
      const registry = new Registry<number>({ kernel, maxWaitersPerKey: limit, remembered: 2 })
      const slots = new Slots()
      const all: Modelled[] = []
      const waiting = (): Modelled[] => all.filter(({ expected }) => expected === undefined)
      const of = (name: string, at?: number): Modelled[] =>
        waiting().filter((m) => m.handle === name && (at === undefined || m.index === at))
      const end = (them: readonly Modelled[], outcome: Outcome): void => {
        for (const modelled of them) modelled.expected ??= outcome
      }
      for (const next of steps) {
        switch (next.do) {
          case 'open': {
            const signal = new AbortController()
            const disconnect = new AbortController()
            const { deadline, look } = next
            const slot = next.slot === undefined ? undefined : slots.take(next.slot)
            if (slot !== undefined)
              end(
                waiting().filter((m) => m.slot?.slot === slot.slot),
                'superseded',
              )
            const full = of(next.handle, next.index).length >= limit
            const request = registry.open(next.handle, next.index, {
              signal: signal.signal,
              disconnect: disconnect.signal,
              deadline,
              slot,
              look: {
                none: undefined,
                found: () => ({ value: 1 }),
                late: () => Promise.resolve({ value: 2 }),
                nothing: () => undefined,
              }[look],
            })
            const dueAt = kernel.clock.now() + (deadline ?? Infinity)
            const { handle: name, index: at } = next
            const modelled = {
              handle: name,
              index: at,
              request,
              signal,
              disconnect,
              slot,
              dueAt,
              expected: undefined,
            }
            all.push(modelled)
            if (look === 'found') end([modelled], 'success')
            else if (full) end([modelled], 'rejected')
            else if (look === 'late') {
              // Reported by a promise reaction: before anything else happens here.
              await turn()
              end([modelled], 'success')
            }
            break
          }
          case 'success':
          case 'error': {
            const { id } = next
            const addressed = of(next.handle, next.index).filter(
              (m) => id === undefined || m.request.id === id,
            )
            const told =
              next.do === 'success'
                ? registry.notifySuccess(next.handle, next.index, 3, id)
                : registry.notifyError(next.handle, next.index, new Error('no'), id)
            assert.equal(told, addressed.length)
            end(addressed, next.do)
            break
          }
          case 'signal':
          case 'disconnect': {
            const modelled = all.at(-1 - next.of)
            modelled?.[next.do].abort()
            if (modelled) end([modelled], next.do === 'signal' ? 'cancelled' : 'disconnected')
            break
          }
          case 'cancel': {
            const modelled = all.at(-1 - next.of)
            if (modelled === undefined || modelled.request.id === 0) break
            const { request, expected } = modelled
            const answer = registry.cancelRequest(request.handle, request.index, request.id)
            if (expected === undefined) assert.equal(answer, 'cancelled')
            else assert.notEqual(answer, 'cancelled', 'I3: an old id never means a new request')
            end([modelled], 'cancelled')
            break
          }
          case 'cancelHandle':
            assert.equal(registry.cancelAllForHandle(next.handle), of(next.handle).length)
            end(of(next.handle), 'cancelled')
            break
          case 'advance':
            await kernel.clock.advance(next.by)
            end(
              waiting().filter(({ dueAt }) => dueAt <= kernel.clock.now()),
              'timeout',
            )
        }
        assert.equal(registry.size, waiting().length, 'I2')
      }
      registry.cancelAll()
      end(waiting(), 'cancelled')
      const settled = await Promise.allSettled(all.map(({ request }) => request.done))
      for (const [i, { request, expected }] of all.entries()) {
        assert.equal(request.outcome, expected)
        assert.equal(settled[i]!.status === 'fulfilled', expected === 'success')
      }
      const seen = new Map<string, number>()
      for (const { handle: name, index: at, request } of all) {
        if (request.id === 0) continue
        const key = `${name} ${at}`
        assert.ok(request.id > (seen.get(key) ?? 0), 'I3: ids grow')
        seen.set(key, request.id)
      }
      const stats = registry.stats()
      assert.equal(
        outcomes.reduce((sum, outcome) => sum + stats.outcomes[outcome], 0),
        stats.submitted,
        'I4',
      )
      assert.equal(stats.submitted, all.length)
      assert.equal(stats.keys, 0)
      assert.ok(stats.remembered <= 2)
      assert.equal(kernel.clock.pending, 0)
      for (const { signal, disconnect, slot } of all) {
        assert.equal(listenersOf(signal.signal) + listenersOf(disconnect.signal), 0)
        if (slot !== undefined) assert.equal(listenersOf(slot.signal), 0)
      }
    }),
    { numRuns: 300 },
  )
})
