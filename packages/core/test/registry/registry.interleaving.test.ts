import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Registry, type Found } from '../../src/registry/registry.ts'
import { interleavings, turn, watch } from './support.ts'

/** Actors that move only when the schedule says so. */
class Stage {
  readonly #parked = new Map<number, () => void>()

  /** Waits for the actor's next turn. */
  step(actor: number): Promise<void> {
    return new Promise((resume) => this.#parked.set(actor, resume))
  }

  async play(schedule: readonly number[]): Promise<void> {
    for (const actor of schedule) {
      const resume = this.#parked.get(actor)
      this.#parked.delete(actor)
      resume?.()
      await turn()
    }
  }
}

const asker = 0
const worker = 1

interface World {
  readonly stage: Stage
  readonly store: Map<string, string>
  readonly registry: Registry<string>
}

/** A worker that stores the result, does something slow, and then notifies. */
async function complete({ stage, store, registry }: World): Promise<void> {
  await stage.step(worker)
  store.set('h', 'plot')
  await stage.step(worker)
  registry.notifySuccess('h', 0, 'plot')
}

/** A read of a slow tier: there is time before the value is read, and after. */
async function slowRead({ stage, store }: World): Promise<Found<string> | undefined> {
  await stage.step(asker)
  const value = store.get('h')
  await stage.step(asker)
  return value === undefined ? undefined : { value }
}

async function played(
  schedule: readonly number[],
  ask: (world: World) => Promise<string>,
): Promise<'answered' | 'lost'> {
  const world: World = { stage: new Stage(), store: new Map(), registry: new Registry() }
  const asked = world.stage.step(asker).then(() => ask(world))
  const result = watch(asked)
  const done = complete(world)
  await world.stage.play(schedule)
  await done
  const answered = result.state === 'fulfilled'
  world.registry.cancelAll()
  await turn()
  assert.equal(world.registry.size, 0)
  return answered ? 'answered' : 'lost'
}

/** The asker has three turns (arrive, read, have read), the worker two (store, tell). */
const schedules = [...interleavings([3, 2])]

test('S14 I6: no completion is lost, in whichever gap of a slow lookup it falls', async () => {
  for (const schedule of schedules) {
    const outcome = await played(schedule, (world) =>
      world.registry.wait('h', 0, { look: () => slowRead(world) }),
    )
    assert.equal(outcome, 'answered', `schedule ${schedule.join('')}`)
  }
})

test('S14 I6: no completion is lost around a lookup in memory', async () => {
  for (const schedule of interleavings([1, 2])) {
    const outcome = await played(schedule, ({ registry, store }) =>
      registry.wait('h', 0, {
        look: () => (store.has('h') ? { value: store.get('h')! } : undefined),
      }),
    )
    assert.equal(outcome, 'answered', `schedule ${schedule.join('')}`)
  }
})

test('S14 the schedules are able to lose it: checking, awaiting, then registering does', async () => {
  const lost: string[] = []
  for (const schedule of schedules) {
    const outcome = await played(schedule, async (world) => {
      const found = await slowRead(world)
      return found === undefined ? world.registry.wait('h', 0) : found.value
    })
    if (outcome === 'lost') lost.push(schedule.join(''))
  }
  // Read before it was stored, notified before it was registered.
  assert.deepEqual(lost, ['00110'])
})
