// Checked by the compiler only: durable steps exist on the context of loop jobs.
import { Graph, job, type ElementResult, type MapCounts, type NodeRef } from '@heddle/core'

const plus = job({ name: 'plus' }, (n: number) => n + 1)
const none = job({ name: 'none' }, () => 'text')

export const flow = job({ name: 'flow' }, async (_: void, ctx) => {
  const sum: number = await ctx.run(plus, 1, { key: 'k' })
  const text: string = await ctx.run(none)
  const approval = await ctx.waitFor<{ yes: boolean }>('approval', { deadline: 1_000 })
  await ctx.sleep(10)
  // @ts-expect-error plus needs an input
  await ctx.run(plus)
  // @ts-expect-error its input is a number
  await ctx.run(plus, 'one')
  return [sum, text, approval.yes, ctx.idempotencyKey]
})

export const inThread = job(
  { name: 'in thread', place: 'thread', module: import.meta.url },
  async (_: void, ctx) => {
    // @ts-expect-error a job in a thread has no steps
    await ctx.run(plus, 1)
    // @ts-expect-error nor sleeps
    await ctx.sleep(1)
    // @ts-expect-error nor signals
    await ctx.waitFor('approval')
    return ctx.idempotencyKey
  },
)

// @ts-expect-error a job that leaves the loop says where it is defined
job({ name: 'no module', place: 'thread' }, (n: number) => n)

const g = new Graph()
const pages = g.add(
  'pages',
  job({ name: 'pages' }, () => [{ text: 'a' }]),
)
const parse = job({ name: 'parse' }, (text: string) => text.length)
export const parsed: NodeRef<number[]> = g.map('parse', parse, {
  over: pages,
  input: (page, index) => page.text + index,
  window: 50,
})
export const settled: NodeRef<ElementResult<number>[]> = g.map('settled', parse, {
  over: pages,
  input: (page) => page.text,
  failures: 'collect',
})
export const counted: NodeRef<MapCounts> = g.map('counted', parse, {
  over: (of) => of(pages).map(({ text }) => text),
  after: [pages],
  collect: false,
})
// @ts-expect-error an element is not what the job takes
g.map('wrong', parse, { over: pages })
// @ts-expect-error a result of a map with collect is not a list of numbers
export const wrong: NodeRef<number[]> = g.map('wrong2', parse, {
  over: () => ['a'],
  failures: 'collect',
})

const inner = new Graph()
const one = inner.add('one', none)
export const made: NodeRef<string> = g.subgraph('sub', () => ({ graph: inner, result: one }))
export const empty: NodeRef<void> = g.subgraph('void', (of) => (of(parsed), inner), {
  after: [parsed],
})

g.add('clean', parse, {
  after: [pages],
  when: 'always',
  input: (of) => String(of(pages)?.length),
})
g.add('clean2', parse, {
  after: [pages],
  when: 'always',
  // @ts-expect-error it may not have succeeded
  input: (of) => String(of(pages).length),
})
