/** An order that waits for an approval: `heddle run graph.ts --key order-7 -- 7`. */
import { appendFile } from 'node:fs/promises'
import { Graph, job } from '@heddle/core'

interface Approval {
  readonly by: string
  readonly ok: boolean
}

const threeDays = 3 * 24 * 60 * 60 * 1_000

/** Stands for another system. It gets a key that stays the same over attempts and restarts. */
async function tell(what: string, key: string): Promise<void> {
  await appendFile('effects.txt', `${what} ${key}\n`)
}

const reserve = job({ name: 'reserve' }, async (order: number, { idempotencyKey }) => {
  await tell(`reserve ${order}`, idempotencyKey)
  return `shelf ${order % 10}`
})

const ship = job({ name: 'ship' }, async (shelf: string, { idempotencyKey }) => {
  await tell(`ship from ${shelf}`, idempotencyKey)
  return `shipped from ${shelf}`
})

const release = job({ name: 'release' }, async (shelf: string, { idempotencyKey }) => {
  await tell(`release ${shelf}`, idempotencyKey)
  return `released ${shelf}`
})

/**
 * Each `ctx.run` is a step with a row of its own: after a restart the job starts again, and finished steps do not run
 * again.
 */
const handleOrder = job({ name: 'order' }, async (order: number, ctx) => {
  const shelf = await ctx.run(reserve, order)
  ctx.log(`order ${order} waits for an approval`)
  const { by, ok } = await ctx.waitFor<Approval>('approval', { deadline: threeDays })
  ctx.log(`${ok ? 'approved' : 'refused'} by ${by}`)
  return ok ? ctx.run(ship, shelf) : ctx.run(release, shelf)
})

export default function makeGraph([order = '7']: readonly string[]): Graph {
  const graph = new Graph()
  graph.add(`order ${order}`, handleOrder, { input: Number(order) })
  return graph
}
