import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Cache } from '../../src/cache/cache.ts'
import type { CacheOptions } from '../../src/cache/cache-options.ts'
import { isError } from '../../src/errors.ts'
import { seededRandom } from '../../src/kernel/random.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'
import { chooseBy, drive, everyOrder, react, type Choose, type DriveOptions } from './drive.ts'
import { HeldTier } from './held-tier.ts'
import { assertExplained, type Step } from './history.ts'
import { Recorder } from './recorder.ts'

type Verb =
  | 'set parent'
  | 'delete parent'
  | 'get parent'
  | 'derive'
  | 'get derived'
  | 'has derived'
  | 'clear'
const verbs: readonly Verb[] = [
  'set parent',
  'delete parent',
  'get parent',
  'derive',
  'get derived',
  'has derived',
  'clear',
]

interface Family {
  readonly parent: string | undefined
  readonly derived: string | undefined
}

/** A parent and one entry derived from it, as one thing: C7. */
async function playFamily(
  program: readonly Verb[],
  choose: Choose,
  options: CacheOptions & DriveOptions = {},
): Promise<void> {
  const clock = new VirtualClock()
  const tier = new HeldTier(false)
  const kernel = { clock, random: seededRandom(1) }
  const open = async (): Promise<Cache<string>> => {
    return new Cache<string>({ kernel, maxEntries: 8, ...options }, tier, await tier.open())
  }
  let cache = await open()
  await cache.set('parent', 'p0')
  await cache.set('derived', 'of p0', { parent: 'parent' })
  cache = await open()
  tier.isHolding = true

  const recorder = new Recorder()
  const steps: Step<Family>[] = []
  const record = <T>(
    name: string,
    work: Promise<T>,
    effect: (result: T | undefined) => Step<Family>['after'],
  ): void => {
    recorder.follow([steps], name, work, effect, (error, step) => {
      assert.ok(isError(error, 'HDL_GONE'), String(error))
      step.after = () => []
    })
  }
  let count = 0
  const derive = async (): Promise<void> => {
    const entry = await cache.entry('parent')
    if (entry === undefined) return
    const made = `of ${entry.value}`
    record(
      `derive from ${entry.value}`,
      cache.set('derived', made, { parent: entry }),
      () => (state) => {
        return state.parent === entry.value ? [{ ...state, derived: made }] : []
      },
    )
  }
  const act = (verb: Verb): void => {
    const made = `p${++count}`
    switch (verb) {
      case 'set parent':
        record(`${verb} ${made}`, cache.set('parent', made), () => () => [
          { parent: made, derived: undefined },
        ])
        break
      case 'delete parent':
        record(verb, cache.delete('parent'), () => () => [
          { parent: undefined, derived: undefined },
        ])
        break
      case 'get parent':
        record(verb, cache.get('parent'), (found) => (state) => {
          return found === state.parent ? [state] : []
        })
        break
      case 'get derived':
        record(verb, cache.get('derived'), (found) => (state) => {
          return found === state.derived ? [state] : []
        })
        break
      case 'has derived':
        record(verb, cache.has('derived'), (found) => (state) => {
          return found === (state.derived !== undefined) ? [state] : []
        })
        break
      case 'clear':
        record(verb, cache.clear(), () => () => [{ parent: undefined, derived: undefined }])
        break
      case 'derive':
        void derive()
        break
    }
  }
  const calls = program.map((verb) => ({ name: verb, make: () => act(verb) }))
  const trace = await drive(tier, calls, choose, options)
  try {
    assert.equal(recorder.running, 0, 'everything that was asked for has ended')
    tier.isHolding = false
    act('get parent')
    await react()
    const inTier = (await tier.inner.peek('derived')) !== undefined
    act('get derived')
    await react()
    const last = steps.at(-1)!.name
    assert.equal(inTier, last !== 'get derived → undefined', `${last}, in the tier: ${inTier}`)
    const { active, pending, reads } = cache.stats()
    assert.deepEqual({ active, reads, writes: pending.writes }, { active: 0, reads: 0, writes: 0 })
    assertExplained('the family', steps, { parent: 'p0', derived: 'of p0' })
  } catch (error) {
    ;(error as Error).message += `\nafter:\n  ${trace.join('\n  ')}`
    throw error
  }
}

test('C7: every order of any two operations on a parent and its derived entries', async () => {
  let runs = 0
  for (const first of verbs) {
    for (const second of verbs) {
      runs += await everyOrder((choose) => playFamily([first, second], choose))
    }
  }
  assert.ok(runs > 500, `${runs} orders`)
})

test('C7: random programs on a family, in random orders of tier operations', async () => {
  const programs = fc.array(fc.constantFrom(...verbs), { minLength: 2, maxLength: 7 })
  const picks = fc.array(fc.nat(1000), { maxLength: 60 })
  for (const options of [{}, { maxBytes: 1 }, { maxBytes: 1, maxPending: 1 }]) {
    const property = fc.asyncProperty(programs, picks, (program, by) =>
      playFamily(program, chooseBy(by), { ...options, impatient: true }),
    )
    await fc.assert(property, { numRuns: 300 })
  }
})
