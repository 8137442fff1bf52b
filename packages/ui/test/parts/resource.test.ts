import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Resource } from '../../src/parts/resource.ts'
import { manualClock } from '../kernel/manual-clock.ts'

/** A server whose answers the test gives. */
class Asked {
  readonly clock = manualClock()
  readonly resource = new Resource<string>(this.clock)
  readonly answers: PromiseWithResolvers<string>[] = []
  readonly fetch = (): Promise<string> => {
    const answer = Promise.withResolvers<string>()
    this.answers.push(answer)
    return answer.promise
  }

  get shown(): readonly [value: string | undefined, hasError: boolean, isLoading: boolean] {
    const { value, error, isLoading } = this.resource.state.value
    return [value, error !== undefined, isLoading]
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const unreachable = (): Error => new TypeError('Failed to fetch')

test('F1, F2 the last value stays while the next is loaded, and an answer that was overtaken is dropped', async () => {
  const asked = new Asked()
  const { resource, fetch, answers } = asked
  void resource.load(fetch)
  answers[0]!.resolve('first')
  await turn()
  assert.deepEqual(asked.shown, ['first', false, false])
  void resource.load(fetch)
  void resource.load(fetch)
  assert.deepEqual(asked.shown, ['first', false, true])
  answers[2]!.resolve('third')
  await turn()
  answers[1]!.resolve('second')
  await turn()
  assert.deepEqual(asked.shown, ['third', false, false])
})

test('F1, F3 a server that is away is asked again by itself, and less and less often', async () => {
  const asked = new Asked()
  const { resource, fetch, answers, clock } = asked
  void resource.load(fetch)
  answers[0]!.resolve('before')
  await turn()
  void resource.load(fetch)
  const pauses: number[] = []
  for (let i = 0; i < 6; i++) {
    const { length } = answers
    answers.at(-1)!.reject(unreachable())
    await turn()
    assert.deepEqual(asked.shown, ['before', true, false])
    let waited = 0
    for (; answers.length === length; waited += 500) clock.advance(500)
    pauses.push(waited)
  }
  assert.deepEqual(pauses, [1_000, 2_000, 4_000, 8_000, 15_000, 15_000])
  answers.at(-1)!.resolve('after')
  await turn()
  assert.deepEqual(asked.shown, ['after', false, false])
})

test('F3 what was refused for good is not asked for again', async () => {
  const asked = new Asked()
  const { resource, fetch, answers, clock } = asked
  void resource.load(fetch)
  answers[0]!.reject(Object.assign(new Error('no such thing'), { status: 404, retryable: false }))
  await turn()
  clock.advance(60_000)
  assert.deepEqual([answers.length, asked.shown], [1, [undefined, true, false]])
})

test('F4 after stop() nothing is asked for and nothing changes', async () => {
  const asked = new Asked()
  const { resource, fetch, answers, clock } = asked
  void resource.load(fetch)
  answers[0]!.reject(unreachable())
  await turn()
  resource.stop()
  clock.advance(60_000)
  assert.equal(answers.length, 1)
  void resource.load(fetch)
  resource.stop()
  answers[1]!.resolve('late')
  await turn()
  assert.equal(asked.shown[0], undefined)
})
