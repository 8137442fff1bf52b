import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { Gather } from '../../../src/store/postgres/gather.ts'

/** A connection whose calls follow each other, advanced by the test. */
class Turns {
  readonly sent: (readonly string[])[] = []
  readonly #queue: (() => void)[] = []

  gather(most = Infinity): Gather<string, string> {
    return new Gather<string, string>(
      async (take) => {
        await new Promise<void>((resolve) => this.#queue.push(resolve))
        const calls = take()
        this.sent.push([...calls])
        if (calls.includes('lost')) throw new Error('the connection was lost')
        return calls.map((call) => (call === 'late' ? Promise.reject(new Error(call)) : `${call}!`))
      },
      (together) => together.length < most,
    )
  }

  async next(): Promise<void> {
    this.#queue.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }

  get waiting(): number {
    return this.#queue.length
  }
}

test('G1: calls that wait for their turn are made as one, and later calls wait for the next turn', async () => {
  const turns = new Turns()
  const gather = turns.gather()
  const first = [gather.call('a'), gather.call('b')]
  await turns.next()
  const second = gather.call('c')
  assert.deepEqual(await Promise.all(first), ['a!', 'b!'])
  await turns.next()
  assert.equal(await second, 'c!')
  assert.deepEqual(turns.sent, [['a', 'b'], ['c']])
})

test('G3: an error of one message is the error of each call in it, and of no other', async () => {
  const turns = new Turns()
  const gather = turns.gather(2)
  const calls = ['a', 'lost', 'b', 'late'].map((call) => gather.call(call))
  const ended = Promise.allSettled(calls)
  await turns.next()
  await turns.next()
  assert.deepEqual(
    (await ended).map((each) => (each.status === 'fulfilled' ? each.value : String(each.reason))),
    ['Error: the connection was lost', 'Error: the connection was lost', 'b!', 'Error: late'],
  )
})

test('G1 G2 G3: in any order of calls and turns each call is sent once, in order, and gets its own answer', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.boolean(), { maxLength: 40 }),
      fc.integer({ min: 1, max: 5 }),
      async (steps, most) => {
        const turns = new Turns()
        const gather = turns.gather(most)
        const asked: string[] = []
        const answers: Promise<string>[] = []
        for (const isCall of steps) {
          if (!isCall) await turns.next()
          else {
            asked.push(String(asked.length))
            answers.push(gather.call(asked.at(-1)!))
          }
        }
        while (turns.waiting > 0) await turns.next()
        assert.deepEqual(
          await Promise.all(answers),
          asked.map((each) => `${each}!`),
        )
        assert.deepEqual(turns.sent.flat(), asked)
        assert.ok(turns.sent.every((each) => each.length > 0 && each.length <= most))
      },
    ),
  )
})
