import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { Queue, type Ticket } from '../../src/sync/queue.ts'
import { codeOf, testKernel, turn, watch, type TestKernel, type Watched } from './support.ts'

const aging = 20
const capacity = 4

interface Item {
  readonly item: string
  readonly since: number
  /** Counts puts: which of several equal items is the last one. */
  readonly put: number
  priority: number
  line: number
  rank: number
  order: number
}

interface Waiting<T> {
  readonly controller: AbortController
  readonly watched: Watched<T>
}

interface Putter extends Waiting<void> {
  readonly item: string
  readonly priority: number
  readonly since: number
}

/** A queue as one flat list that is searched from end to end. */
class Model {
  readonly queued: Item[] = []
  readonly putters: Putter[] = []
  readonly getters: Waiting<Ticket<string>>[] = []
  readonly accepted: Watched<void>[] = []
  /** The items that each taker must get. */
  readonly served: { readonly watched: Watched<Ticket<string>>; readonly item: string }[] = []
  readonly refused: { readonly watched: Watched<unknown>; readonly code: string }[] = []
  readonly idlers: Watched<void>[] = []
  readonly idle: Watched<void>[] = []
  /** Tickets that are not finished; a waiting getter gets its own when it is served. */
  readonly unfinished: Watched<Ticket<string>>[] = []
  puts = 0
  places = 0
  closed = false

  lastPlace(line: number, since: number): { rank: number; order: number } {
    const ranks = this.queued.filter((each) => each.line === line).map((each) => each.rank)
    return { rank: Math.max(since + line * aging, ...ranks), order: this.places++ }
  }

  put(item: string, priority: number, since: number): void {
    const getter = this.getters.shift()
    if (getter !== undefined) {
      this.serve(getter.watched, item)
      return
    }
    const place = this.lastPlace(priority, since)
    this.queued.push({ item, since, put: this.puts++, priority, line: priority, ...place })
  }

  serve(watched: Watched<Ticket<string>>, item: string): void {
    this.served.push({ watched, item })
    this.unfinished.push(watched)
  }

  get next(): Item | undefined {
    return this.queued.toSorted((a, b) => a.rank - b.rank || a.order - b.order)[0]
  }

  newest(item: string): Item | undefined {
    return this.queued.filter((each) => each.item === item).toSorted((a, b) => b.put - a.put)[0]
  }

  drop(item: Item): void {
    this.queued.splice(this.queued.indexOf(item), 1)
    while (this.queued.length < capacity && this.putters.length > 0) {
      const putter = this.putters.shift()!
      this.accepted.push(putter.watched)
      this.put(putter.item, putter.priority, putter.since)
    }
  }

  checkIdle(): void {
    if (this.queued.length + this.unfinished.length === 0) this.idle.push(...this.idlers.splice(0))
  }
}

interface Real {
  readonly kernel: TestKernel
  readonly queue: Queue<string>
}

async function compare(model: Model, { queue, kernel }: Real): Promise<void> {
  model.checkIdle()
  await turn()
  const { sizeByPriority, ...stats } = queue.stats()
  assert.deepEqual(stats, {
    capacity,
    size: model.queued.length,
    taken: model.unfinished.length,
    waitingPutters: model.putters.length,
    waitingGetters: model.getters.length,
    closed: model.closed,
  })
  assert.deepEqual(
    sizeByPriority,
    sizeByPriority.map((_, line) => model.queued.filter((each) => each.line === line).length),
  )
  assert.ok(model.queued.length <= capacity, 'Q1')
  assert.ok(model.putters.length === 0 || model.queued.length === capacity, 'Q2')
  assert.ok(model.getters.length === 0 || model.queued.length === 0, 'Q2')
  for (const watched of [...model.accepted, ...model.idle]) assert.equal(watched.state, 'fulfilled')
  for (const { watched, item } of model.served) assert.equal(watched.value?.item, item)
  for (const { watched, code } of model.refused) assert.equal(codeOf(watched.error), code)
  for (const { watched } of [...model.putters, ...model.getters]) {
    assert.equal(watched.state, 'pending')
  }
  for (const watched of model.idlers) assert.equal(watched.state, 'pending')
  assert.equal(kernel.clock.pending, 0)
}

type Command = fc.AsyncCommand<Model, Real>

function command(
  name: string,
  run: (model: Model, real: Real) => void | Promise<void>,
  check: (model: Model) => boolean = () => true,
): Command {
  return {
    check,
    run: async (model, real) => {
      await run(model, real)
      await compare(model, real)
    },
    toString: () => name,
  }
}

const put = (item: string, priority: number): Command =>
  command(`put ${item} at ${priority}`, (model, { queue, kernel }) => {
    const controller = new AbortController()
    const watched = watch(queue.put(item, { priority, signal: controller.signal }))
    const since = kernel.clock.now()
    if (model.closed) model.refused.push({ watched, code: 'HDL_CLOSED' })
    else if (model.queued.length < capacity) {
      model.accepted.push(watched)
      model.put(item, priority, since)
    } else model.putters.push({ controller, watched, item, priority, since })
  })

const tryPut = (item: string, priority: number): Command =>
  command(
    `tryPut ${item} at ${priority}`,
    (model, { queue, kernel }) => {
      const room = model.queued.length < capacity
      assert.equal(queue.tryPut(item, { priority }), room)
      if (room) model.put(item, priority, kernel.clock.now())
    },
    (model) => !model.closed,
  )

const take = command('take', (model, { queue }) => {
  const controller = new AbortController()
  const watched = watch(queue.take({ signal: controller.signal }))
  const { next } = model
  if (next !== undefined) {
    model.serve(watched, next.item)
    model.drop(next)
  } else if (model.closed) model.refused.push({ watched, code: 'HDL_CLOSED' })
  else model.getters.push({ controller, watched })
})

const tryTake = command('tryTake', (model, { queue }) => {
  const ticket = queue.tryTake()
  const { next } = model
  assert.equal(ticket?.item, next?.item)
  assert.equal(ticket?.priority, next?.priority)
  if (next === undefined) return
  model.serve({ state: 'fulfilled', value: ticket, error: undefined }, next.item)
  model.drop(next)
})

const finish = (index: number): Command =>
  command(
    `finish ${index}`,
    (model) => {
      const [watched] = model.unfinished.splice(index % model.unfinished.length, 1)
      watched?.value?.done()
      watched?.value?.done()
    },
    (model) => model.unfinished.length > 0,
  )

const remove = (item: string): Command =>
  command(`remove ${item}`, (model, { queue }) => {
    const newest = model.newest(item)
    assert.equal(queue.remove(item), newest !== undefined)
    if (newest !== undefined) model.drop(newest)
  })

const move = (item: string, priority: number): Command =>
  command(`move ${item} to ${priority}`, (model, { queue }) => {
    const newest = model.newest(item)
    assert.equal(queue.move(item, priority), newest !== undefined)
    if (newest === undefined) return
    newest.priority = priority
    if (newest.line === priority) return
    const before = model.queued.toSorted((a, b) => a.rank - b.rank || a.order - b.order)
    const place = model.lastPlace(priority, newest.since)
    if (priority < newest.line && newest.rank <= place.rank) return
    const raised = priority < newest.line
    Object.assign(newest, { line: priority, ...place })
    const after = model.queued.toSorted((a, b) => a.rank - b.rank || a.order - b.order)
    if (raised) assert.ok(after.indexOf(newest) <= before.indexOf(newest), 'raised, never later')
  })

const abort = (index: number): Command =>
  command(
    `abort ${index}`,
    (model) => {
      const list: Waiting<unknown>[] = model.putters.length > 0 ? model.putters : model.getters
      const [one] = list.splice(index % list.length, 1)
      one!.controller.abort()
      model.refused.push({ watched: one!.watched, code: 'HDL_CANCELLED' })
    },
    (model) => model.putters.length + model.getters.length > 0,
  )

const idle = command('waitIdle', (model, { queue }) => {
  model.idlers.push(watch(queue.waitIdle()))
})

const clear = command('clear', (model, { queue }) => {
  const expected: string[] = []
  for (let { next } = model; next !== undefined; { next } = model) {
    expected.push(next.item)
    model.queued.splice(model.queued.indexOf(next), 1)
  }
  assert.deepEqual(queue.clear(), expected)
  const putters = model.putters.splice(0, capacity)
  for (const { watched, item, priority, since } of putters) {
    model.accepted.push(watched)
    model.put(item, priority, since)
  }
})

const close = command('close', (model, { queue }) => {
  queue.close()
  model.closed = true
  for (const { watched } of [...model.putters.splice(0), ...model.getters.splice(0)]) {
    model.refused.push({ watched, code: 'HDL_CLOSED' })
  }
})

const pass = (milliseconds: number): Command =>
  command(`pass ${milliseconds} ms`, (_model, { kernel }) => kernel.clock.advance(milliseconds))

test('Q1 to Q6: a queue is a sorted list with a bound', async () => {
  const items = fc.constantFrom('a', 'b', 'c', 'd', 'e')
  const priorities = fc.constantFrom(0, 1, 1, 3, 9)
  const index = fc.nat({ max: 20 })
  const commands = fc.commands<Model, Real, false>(
    [
      fc.tuple(items, priorities).map((of) => put(...of)),
      fc.tuple(items, priorities).map((of) => put(...of)),
      fc.tuple(items, priorities).map((of) => tryPut(...of)),
      fc.tuple(items, priorities).map((of) => move(...of)),
      items.map(remove),
      index.map(finish),
      index.map(abort),
      fc.integer({ min: 1, max: 30 }).map(pass),
      fc.constantFrom(take, take, tryTake, idle),
      // Seldom, or most sequences would be about a closed or an empty queue.
      fc.integer({ min: 0, max: 9 }).map((n) => (n === 0 ? close : n === 1 ? clear : take)),
    ],
    { maxCommands: 80, size: 'max' },
  )
  await fc.assert(
    fc.asyncProperty(commands, async (sequence) => {
      const kernel = testKernel()
      const queue = new Queue<string>({ capacity, aging, kernel })
      const model = new Model()
      const real = { kernel, queue }
      await fc.asyncModelRun(() => ({ model, real }), sequence)

      // Q4: whatever happened, it becomes idle when the rest is taken and finished.
      await close.run(model, real)
      while (model.queued.length > 0) await tryTake.run(model, real)
      while (model.unfinished.length > 0) await finish(0).run(model, real)
      await queue.waitIdle()
    }),
    { numRuns: 400 },
  )
})
