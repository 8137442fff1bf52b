/**
 * Plays a program against a cache over a held tier, in an order that is chosen step by step, and
 * checks the results against a model of each key.
 */
import assert from 'node:assert/strict'
import { Cache } from '../../src/cache/cache.ts'
import type { CacheOptions } from '../../src/cache/cache-options.ts'
import { isError } from '../../src/errors.ts'
import { seededRandom } from '../../src/kernel/random.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'
import { drive, react, type Choose, type DriveOptions } from './drive.ts'
import { HeldTier } from './held-tier.ts'
import { assertExplained, type Step } from './history.ts'
import { Recorder } from './recorder.ts'

export type Verb = 'get' | 'set' | 'delete' | 'clear' | 'update' | 'compute' | 'has'

export interface Action {
  readonly verb: Verb
  readonly key: string
}

export interface PlayOptions extends CacheOptions, DriveOptions {
  /** Keys that are on the tier, and not in memory, when it starts. */
  readonly stored?: readonly string[]
  /** After the last choice: throw away the cache and the pending operations of the tier. */
  readonly crash?: boolean
}

/** The value of a key; undefined when it has none. */
type Value = string | undefined

const keys = ['a', 'b'] as const

class Player {
  readonly tier = new HeldTier(false)
  readonly clock = new VirtualClock()
  readonly recorder = new Recorder()
  readonly steps = new Map<string, Step<Value>[]>(keys.map((key) => [key, []]))
  /** When each computed value began to be computed. */
  readonly #computedAt = new Map<Value, number>()
  readonly #options: PlayOptions
  #count = 0
  cache: Cache<string>

  constructor(options: PlayOptions) {
    this.#options = options
    this.cache = this.open(0)
  }

  open(version: number): Cache<string> {
    const kernel = { clock: this.clock, random: seededRandom(1) }
    this.cache = new Cache<string>({ kernel, maxEntries: 8, ...this.#options }, this.tier, version)
    return this.cache
  }

  stepsOf(key: string): Step<Value>[] {
    return this.steps.get(key)!
  }

  act({ verb, key }: Action): void {
    const { cache } = this
    const value = `${verb[0]}${++this.#count}`
    switch (verb) {
      case 'get':
        this.#record(key, 'get', cache.get(key), (found) => (state) => {
          return found === state ? [state] : []
        })
        break
      case 'has':
        this.#record(key, 'has', cache.has(key), (found) => (state) => {
          return found === (state !== undefined) ? [state] : []
        })
        break
      case 'set':
        this.#record(key, `set ${value}`, cache.set(key, value), () => () => [value])
        break
      case 'delete':
        this.#record(key, 'delete', cache.delete(key), (existed) => (state) => {
          return this.#mayTell(key, existed, state) ? [undefined] : []
        })
        break
      case 'clear':
        this.#record(undefined, 'clear', cache.clear(), () => () => [undefined])
        break
      case 'update': {
        const append = (old: Value): string => `${old ?? ''}.${value}`
        this.#record(key, `update ${value}`, cache.update(key, append), (made) => (state) => {
          return made === undefined || append(state) === made ? [append(state)] : []
        })
        break
      }
      case 'compute':
        this.#compute(key, value)
        break
    }
  }

  #compute(key: string, value: string): void {
    const compute = async (): Promise<string> => {
      this.#computedAt.set(value, this.recorder.tick())
      await this.tier.compute(key)
      return value
    }
    const start = this.recorder.tick()
    // Its caller has the value before the tier has it, and is not notified when that fails.
    const lost = { name: 'lost', start, end: Infinity, isOptional: true, after: () => [undefined] }
    if (this.#options.failures === true) this.stepsOf(key).push(lost)
    const work = this.cache.getOrCompute(key, compute)
    this.#record(key, `compute ${value}`, work, (made) => (state) => {
      if (made === undefined || state === made) return [state]
      const begun = this.#computedAt.get(made)
      // A value that a change has overtaken is given to its callers and not kept; but never to
      // a caller that came after that change had ended.
      if (begun === undefined || this.#hasChangedBetween(key, begun, start)) return []
      // When the tier cannot be read, its value is replaced.
      const mayKeep = state === undefined || this.#options.failures === true
      return mayKeep ? [made, state] : [state]
    })
  }

  /** What delete may say. When a clear came in between, either answer is right. */
  #mayTell(key: string, existed: boolean | undefined, state: Value): boolean {
    if (existed === undefined || existed === (state !== undefined)) return true
    return !existed && this.stepsOf(key).some((step) => step.name.startsWith('clear'))
  }

  #hasChangedBetween(key: string, from: number, to: number): boolean {
    return this.stepsOf(key).some(
      ({ name, start, end }) => /^(set|delete|clear|update)/.test(name) && start > from && end < to,
    )
  }

  /** Records for one key, or for all of them. */
  #record<T>(
    key: string | undefined,
    name: string,
    work: Promise<T>,
    effect: (result: T | undefined) => Step<Value>['after'],
  ): void {
    const lists = key === undefined ? [...this.steps.values()] : [this.stepsOf(key)]
    this.recorder.follow(lists, name, work, effect, (error, step, list) => {
      // A transaction that found its ground gone has changed nothing; nor does a failed read.
      if (isError(error, 'HDL_GONE') || /^(get|has)/.test(name)) step.after = () => []
      // An update may have failed when it read: then it has not changed anything either.
      else this.#lose(list, step, name.startsWith('update'))
      const isExpected = this.#options.failures === true && isError(error, 'HDL_STORE_FAILED')
      assert.ok(isError(error, 'HDL_GONE') || isExpected, String(error))
    })
  }

  /** B4: a value that could not be written is deleted, after others may have seen it. */
  #lose(list: Step<Value>[], failed: Step<Value>, isOptional: boolean): void {
    const { start, end } = failed
    list.push({ name: 'lost', start, end, after: () => [undefined], isOptional, afterStep: failed })
  }

  /**
   * A read may return a value that the tier does not have yet, and a computed value is given before the tier
   * has it. So of the time before a crash only changes count, and only acknowledged ones must.
   */
  forgetReads(): void {
    for (const [key, steps] of this.steps) {
      const changes = steps.filter((step) => !/^(get|has)/.test(step.name))
      for (const step of changes) if (step.name.startsWith('compute')) step.isOptional = true
      this.steps.set(key, changes)
    }
  }
}

export async function play(
  program: readonly Action[],
  choose: Choose,
  options: PlayOptions = {},
): Promise<void> {
  const player = new Player(options)
  const { tier, recorder } = player
  const stored = options.stored ?? []
  for (const key of stored) await player.cache.set(key, `old ${key}`)
  player.open(await tier.open())
  tier.isHolding = true
  const calls = program.map((action) => {
    return { name: `${action.verb} ${action.key}`, make: () => player.act(action) }
  })
  const trace = await drive(tier, calls, choose, options)
  try {
    if (options.crash === true) {
      // Pending events never happen, and no caller gets an answer any more.
      tier.held.length = 0
      player.forgetReads()
      player.open(await tier.open())
    } else assert.equal(recorder.running, 0, 'everything that was asked for has ended')
    tier.isHolding = false
    await checkEnd(player, options)
    for (const key of keys) {
      assertExplained(key, player.stepsOf(key), stored.includes(key) ? `old ${key}` : undefined)
    }
  } catch (error) {
    ;(error as Error).message += `\nafter:\n  ${trace.join('\n  ')}`
    throw error
  }
}

/** Both tiers have the value of a read, and nothing else is left. */
async function checkEnd(player: Player, options: PlayOptions): Promise<void> {
  const { cache, clock, tier } = player
  for (const key of keys) {
    const inMemory = cache.tryGet(key)
    const inTier = await tier.inner.peek(key)
    player.act({ verb: 'get', key })
    await react()
    const last = player.stepsOf(key).at(-1)!.name.replace('get → ', '')
    if (inMemory !== undefined) assert.equal(inMemory, last, 'memory has what a read gives')
    // A tier that refuses may have too much: it is not asked then.
    if (options.failures === true) continue
    assert.equal(inTier !== undefined, last !== 'undefined', 'the tier has what a read gives')
  }
  // A change that the tier refused is remembered until it takes it.
  if (options.failures === true) await cache.clear()
  const { active, pending, reads } = cache.stats()
  assert.deepEqual(pending, { writes: 0, bytes: 0, waiting: 0 })
  assert.deepEqual({ active, reads, timers: clock.pending }, { active: 0, reads: 0, timers: 0 })
}
