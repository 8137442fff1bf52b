import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { RowOrder } from '../../src/journal/row-order.ts'

const plan = fc.array(fc.record({ isHeld: fc.boolean(), fails: fc.boolean() }), { maxLength: 12 })

test('R1, R2: rows come out in the order in which they went in, whatever is prepared first', async () => {
  await fc.assert(
    fc.asyncProperty(plan, fc.infiniteStream(fc.nat()), async (rows, choices) => {
      const order = new RowOrder()
      const emitted: number[] = []
      const outcomes: Promise<unknown>[] = []
      const preparing: (() => void)[] = []
      for (const [index, { isHeld, fails }] of rows.entries()) {
        if (!isHeld) {
          order.push(() => emitted.push(index))
          continue
        }
        const prepared = new Promise<number>((resolve, reject) => {
          preparing.push(() => (fails ? reject(new Error(String(index))) : resolve(index)))
        })
        const emit = async (value: number): Promise<void> => void emitted.push(value)
        outcomes.push(order.hold(prepared, emit).catch((error: unknown) => error))
      }
      while (preparing.length > 0) {
        const choice = choices.next().value! % preparing.length
        preparing.splice(choice, 1)[0]!()
        await Promise.resolve()
      }
      await Promise.all(outcomes)
      const expected = [...rows.keys()].filter((i) => !(rows[i]!.isHeld && rows[i]!.fails))
      assert.deepEqual(emitted, expected)
      assert.equal(order.held, 0)
      assert.equal(order.isHolding, false)
    }),
  )
})

test('a held row ends as its emission does', async () => {
  const order = new RowOrder()
  const failed = order.hold(Promise.resolve(1), async () => {
    throw new Error('not durable')
  })
  await assert.rejects(failed, /not durable/)
  await assert.rejects(
    order.hold(Promise.reject(new Error('not plain')), async () => undefined),
    /not plain/,
  )
})
