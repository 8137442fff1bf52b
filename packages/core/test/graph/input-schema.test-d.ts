// Checked by the compiler only: a node takes the input type of its job's schema, and the function gets the output type.
import { Graph, job, type InputSchema, type Job, type NodeRef } from '@heddle/core'

interface Given {
  n: string
  tenant?: string
}
interface Made {
  n: number
  tenant: string
}
declare const schema: InputSchema<Made, Given>

export const made = job(
  { name: 'made', input: schema, needs: ({ tenant }) => ({ tenant }) },
  (input, ctx) => {
    const { n, tenant }: Made = input
    // @ts-expect-error the schema has made a number of it
    const text: string = input.n
    void ctx.sleep(1)
    return n + tenant.length + text.length
  },
)
export const typed: () => Job<Given, number, Made> = () => made
export const inThread: Job<Given, number, Made> = job(
  { name: 'in thread', place: 'thread', module: import.meta.url, input: schema },
  ({ n }) => n,
)

const g = new Graph()
export const added: NodeRef<number> = g.add('added', made, {
  input: { n: '1' },
  needs: ({ n }) => ({ db: n }),
})
// @ts-expect-error what the schema gives back is not what it takes
g.add('wrong', made, { input: { n: 1, tenant: 'acme' } })
// @ts-expect-error it takes an input
g.add('none', made)
const list = g.add(
  'list',
  job({ name: 'list' }, () => [{ id: 1 }]),
)
export const mapped: NodeRef<number[]> = g.map('mapped', made, {
  over: list,
  input: ({ id }) => ({ n: String(id) }),
  needs: ({ tenant }) => ({ tenant }),
})
export const direct: NodeRef<number[]> = g.map('direct', made, { over: () => [{ n: '1' }] })
// @ts-expect-error an element is not what the schema takes
g.map('wrong elements', made, { over: list })
export const flow = job({ name: 'flow' }, async (_: void, ctx) => {
  // @ts-expect-error a step is given what the schema takes
  await ctx.run(made, { n: 1, tenant: 'acme' })
  const sum: number = await ctx.run(made, { n: '1' })
  return sum
})

// A schema whose output type is its input type, like most.
declare const same: InputSchema<{ amount: number }>
const pay = job({ name: 'pay', input: same }, ({ amount }) => amount)
export const paid: Job<{ amount: number }, number> = pay
g.add('pay', pay, { input: { amount: 1 } })

// A job that takes anything has its results read with types.
g.add(
  'report',
  job({ name: 'report' }, (found: unknown) => found),
  { after: [list], input: (of) => of(list).length },
)
