import assert from 'node:assert/strict'
import { test } from 'node:test'
import { afterReactions } from '../../src/kernel/turn.ts'

const immediate = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('afterReactions() comes after all reactions and before the next turn', async () => {
  const order: string[] = []
  const chain = async (length: number): Promise<void> => {
    for (let step = 0; step < length; step++) await Promise.resolve()
    order.push(`chain ${length}`)
  }
  setImmediate(() => order.push('immediate'))
  afterReactions(() => order.push('after'))
  void chain(1)
  void chain(20)
  await immediate()
  assert.deepEqual(order, ['chain 1', 'chain 20', 'after', 'immediate'])
})

test('afterReactions() planned from a callback of the machine comes after the reactions too', async () => {
  const order: string[] = []
  await new Promise<void>((resolve) => {
    setImmediate(() => {
      afterReactions(() => order.push('after'))
      void Promise.resolve().then(() => order.push('reaction'))
      setImmediate(resolve)
    })
  })
  assert.deepEqual(order, ['reaction', 'after'])
})
