import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { resumeAttempt, shield, suspendAttempt, type Attempt } from '../../src/attempts/attempt.ts'
import { final, retryAfter } from '../../src/attempts/retry.ts'
import { isError } from '../../src/errors.ts'
import { seededRandom } from '../../src/kernel/random.ts'
import { Entry, Kit } from './kit.ts'

const nth = fc.nat({ max: 9 })
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('submit' as const),
      retries: fc.integer({ min: 0, max: 2 }),
      timeout: fc.constantFrom(20, 50, Infinity),
      obeys: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('resolve' as const), nth }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('reject' as const),
      nth,
      error: fc.constantFrom('plain', 'final', 'later'),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('suspend' as const, 'resume' as const),
      nth,
    }),
  },
  fc.record({
    do: fc.constantFrom('abort' as const, 'withdraw' as const, 'shield' as const),
    nth,
  }),
  fc.record({ do: fc.constantFrom('close' as const, 'open' as const) }),
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('advance' as const),
      by: fc.integer({ min: 1, max: 70 }),
    }),
  },
)

const permits = 2
const abortGrace = 30

/** How long each attempt has run, by the reports alone. */
class Stopwatch {
  readonly #kit: Kit
  readonly #stoppedAt = new Map<Attempt<Entry>, number>()
  readonly #ran = new Map<Attempt<Entry>, { before: number; since: number | undefined }>()

  constructor(kit: Kit) {
    this.#kit = kit
  }

  look(entries: readonly Entry[]): void {
    const now = this.#kit.clock.now()
    for (const attempt of entries.flatMap(({ attempts }) => attempts)) {
      const runs = attempt.list !== undefined && attempt.suspension === undefined
      let ran = this.#ran.get(attempt)
      if (ran === undefined) this.#ran.set(attempt, (ran = { before: 0, since: now }))
      if (attempt.cancelled && !this.#stoppedAt.has(attempt)) this.#stoppedAt.set(attempt, now)
      if (!runs && ran.since !== undefined) {
        ran.before += now - ran.since
        ran.since = undefined
      } else if (runs) ran.since ??= now
    }
  }

  /** When it was first seen to be stopped. */
  stoppedAt(attempt: Attempt<Entry>): number {
    return this.#stoppedAt.get(attempt)!
  }

  of(attempt: Attempt<Entry>): number {
    const { before, since } = this.#ran.get(attempt)!
    return before + (since === undefined ? 0 : this.#kit.clock.now() - since)
  }
}

function check(kit: Kit, entries: readonly Entry[], watch: Stopwatch): void {
  assert.ok(kit.room.mostUsed <= permits, 'A3: permits are bounded')
  let held = 0
  for (const entry of entries) {
    const { current, name } = entry
    const holds = current !== undefined && current.suspension === undefined
    assert.equal(entry.held, holds ? 1 : 0, `A3: ${name}`)
    held += entry.held
    const isQueued = entry.list !== undefined
    const isResuming = current?.suspension?.waiter !== undefined
    if (isQueued && current !== undefined)
      assert.ok(isResuming && !current.cancelled, `A2: ${name}`)
    const places = [current, isQueued && current === undefined, entry.isRetrying, entry.end]
    assert.equal(places.filter(Boolean).length, 1, `A1: ${name} is in one place`)
    assert.equal(kit.runner.retryAt(entry) !== undefined, entry.isRetrying, `retryAt of ${name}`)
    assert.ok(entry.attempts.length <= entry.limits.retries + 1, `${name} is not tried too often`)
    if (current === undefined || current.isShielded) continue
    const ran = watch.of(current)
    if (current.cancelled) {
      const since = kit.clock.now() - watch.stoppedAt(current)
      assert.ok(since < abortGrace, `A6: ${name} was stopped ${since} ms ago`)
    }
    if (!current.cancelled) assert.ok(ran < entry.limits.timeout, `A4: ${name} ran ${ran} ms`)
    else if (current.isTimedOut && current.suspension === undefined) {
      assert.ok(ran >= entry.limits.timeout, `A4: ${name} was stopped after ${ran} ms`)
    }
  }
  assert.equal(kit.room.used, held, 'A3: permits in use')
  if (kit.isOpen) assert.equal(kit.room.mayStart, false, 'what can start has started')
  const under = entries.filter(({ current }) => current !== undefined)
  const suspended = under.filter(({ current }) => current!.suspension !== undefined)
  assert.deepEqual(
    [kit.runner.running, kit.runner.suspended],
    [under.length - suspended.length, suspended.length],
  )
}

async function play(steps: readonly (typeof step extends fc.Arbitrary<infer S> ? S : never)[]) {
  const kit = new Kit({ permits, abortGrace, random: seededRandom(7), retryBaseDelay: 40 })
  const entries: Entry[] = []
  const watch = new Stopwatch(kit)
  const obedient = new Set<Entry>()
  const obey = (): void => {
    for (const entry of obedient) {
      const { current } = entry
      if (current?.cancelled) entry.gate.reject(current.reason)
    }
  }
  /** One millisecond at a time, so that the stopwatch sees every change. */
  const advance = async (by: number): Promise<void> => {
    for (let left = by; left > 0; left--) {
      await kit.clock.advance(1)
      watch.look(entries)
      obey()
      await kit.clock.settle()
      watch.look(entries)
      check(kit, entries, watch)
    }
  }
  for (const next of steps) {
    // Among those to which it can happen: a random index would rarely meet one.
    const meant = entries.filter(({ current, end }) =>
      next.do === 'withdraw' ? current === undefined && end === undefined : current !== undefined,
    )
    const entry = 'nth' in next ? meant[next.nth % meant.length] : undefined
    const current = entry?.current
    switch (next.do) {
      case 'submit': {
        const { retries, timeout } = next
        const made = new Entry(`e${entries.length}`, { retries, timeout })
        if (next.obeys) obedient.add(made)
        entries.push(made)
        kit.submit(made)
        break
      }
      case 'resolve':
        if (current !== undefined) entry!.gate.resolve(1)
        break
      case 'reject':
        if (current === undefined) break
        entry!.gate.reject(
          next.error === 'plain'
            ? new Error('no')
            : next.error === 'final'
              ? final(new Error('never'))
              : retryAfter(15),
        )
        break
      case 'suspend':
        if (current !== undefined) {
          const may = !current.cancelled && !current.isShielded && current.suspension === undefined
          assert.equal(suspendAttempt(current), may)
        }
        break
      case 'resume':
        if (current === undefined) break
        resumeAttempt(current).catch((error: unknown) => assert.ok(error instanceof Error))
        break
      case 'abort':
        if (current !== undefined) kit.runner.abort(current, new Error('stop'))
        break
      case 'shield':
        if (current !== undefined && current.suspension === undefined) shield(current)
        break
      case 'withdraw':
        if (entry === undefined || current !== undefined || entry.end !== undefined) break
        if (entry.list !== undefined) kit.room.remove(entry)
        else assert.equal(kit.runner.withdrawBackoff(entry), true)
        entry.isRetrying = false
        entry.end = 'cancelled'
        kit.runner.pump()
        break
      case 'close':
        kit.isOpen = false
        break
      case 'open':
        kit.isOpen = true
        kit.runner.pump()
        break
      case 'advance':
        await advance(next.by)
    }
    await kit.clock.settle()
    watch.look(entries)
    obey()
    await kit.clock.settle()
    watch.look(entries)
    check(kit, entries, watch)
  }
  // Every entry comes to its end, whatever was done to it.
  kit.isOpen = true
  kit.runner.pump()
  for (let round = 0; round < 200 && entries.some(({ end }) => end === undefined); round++) {
    for (const { current, gate } of entries) if (current !== undefined) gate.resolve(1)
    await kit.clock.advance(50)
  }
  watch.look(entries)
  check(kit, entries, watch)
  assert.deepEqual(entries.filter(({ end }) => end === undefined).length, 0, 'A1')
  kit.runner.releaseTimers()
  assert.deepEqual([kit.room.used, kit.room.size, kit.clock.pending], [0, 0, 0], 'A11')
  for (const { end, errors } of entries) {
    if (end !== 'failed') continue
    const last = errors.at(-1) as { made?: unknown }
    if (last.made === undefined) continue
    assert.ok(isError(last.made, 'HDL_TIMEOUT') || isError(last.made, 'HDL_UNRESPONSIVE'))
  }
}

test('A1 A2 A3 A4 A8 A11: any order of failures, retries, cancels, timeouts, suspensions and pauses', async () => {
  await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 40, size: 'max' }), play), {
    numRuns: 300,
  })
})
