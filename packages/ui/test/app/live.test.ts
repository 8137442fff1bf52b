import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Live, type Connection } from '../../src/app/live.ts'
import { manualClock } from '../kernel/manual-clock.ts'

interface Opened {
  readonly connection: Connection
  readonly end: () => void
  readonly fail: (error?: Error) => void
}

class View {
  readonly clock = manualClock()
  readonly live = new Live(this.clock, (error) => error instanceof RangeError)
  readonly opened: Opened[] = []
  readonly follow = (connection: Connection): Promise<void> =>
    new Promise((resolve, reject) => {
      this.opened.push({
        connection,
        end: resolve,
        fail: (error = new Error('gone')) => reject(error),
      })
    })

  get open(): number {
    return this.opened.filter(({ connection }) => !connection.signal.aborted).length
  }
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('L1 following another view closes the stream of the one before', () => {
  const view = new View()
  const stop = view.live.follow(view.follow)
  const stopNext = view.live.follow((connection) => view.follow(connection))
  assert.equal(view.open, 1)
  stop()
  assert.equal(view.open, 1)
  stopNext()
  assert.deepEqual([view.open, view.live.state.value], [0, 'off'])
})

test('L2, L3 no stream is open while paused or hidden; the view is followed again afterwards', () => {
  const view = new View()
  view.live.follow(view.follow)
  view.opened[0]!.connection.onEvent()
  assert.equal(view.live.state.value, 'open')
  view.live.pause()
  assert.deepEqual([view.open, view.live.state.value], [0, 'paused'])
  view.live.setHidden(true)
  view.live.resume()
  assert.equal(view.open, 0)
  view.live.setHidden(false)
  assert.deepEqual([view.open, view.live.state.value], [1, 'connecting'])
  view.opened[1]!.connection.onState('lost')
  assert.equal(view.live.state.value, 'lost')
  view.opened[0]!.connection.onEvent()
  assert.equal(view.live.state.value, 'lost')
})

test('L4 a view that has ended is not opened again; a view that is followed afterwards is', async () => {
  const view = new View()
  view.live.follow(view.follow)
  view.opened[0]!.end()
  await turn()
  assert.equal(view.live.state.value, 'ended')
  view.live.pause()
  view.live.resume()
  assert.equal(view.opened.length, 1)
  view.live.follow(view.follow)
  assert.equal(view.opened.length, 2)
  view.opened[1]!.fail(new RangeError('there is no such run'))
  await turn()
  view.clock.advance(60_000)
  assert.deepEqual([view.live.state.value, view.opened.length], ['off', 2])
})

test('L5 an address that could not be read is followed again, after pauses that double until an answer comes', async () => {
  const view = new View()
  view.live.follow(view.follow)
  const pauses: number[] = []
  const failUntilOpened = async (): Promise<void> => {
    const { length } = view.opened
    view.opened.at(-1)!.fail()
    await turn()
    assert.equal(view.live.state.value, 'lost')
    let waited = 0
    for (; view.opened.length === length; waited += 500) view.clock.advance(500)
    pauses.push(waited)
    assert.deepEqual([view.open, view.live.state.value], [1, 'connecting'])
  }
  for (let i = 0; i < 6; i++) await failUntilOpened()
  assert.deepEqual(pauses, [1_000, 2_000, 4_000, 8_000, 15_000, 15_000])
  view.opened.at(-1)!.connection.onEvent()
  await failUntilOpened()
  assert.equal(pauses.at(-1), 1_000)
})

test('L3, L5 a pause or another view ends the waiting for the next try', async () => {
  const view = new View()
  const stop = view.live.follow(view.follow)
  view.opened[0]!.fail()
  await turn()
  view.live.pause()
  view.clock.advance(60_000)
  assert.deepEqual([view.opened.length, view.live.state.value], [1, 'paused'])
  view.live.resume()
  assert.equal(view.opened.length, 2)
  view.opened[1]!.fail()
  await turn()
  stop()
  view.clock.advance(60_000)
  assert.deepEqual([view.opened.length, view.live.state.value], [2, 'off'])
})
