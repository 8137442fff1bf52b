import assert from 'node:assert/strict'
import test from 'node:test'
import { job, type Job } from '@heddle/core'
import { serveJob } from '@heddle/server'
import { jobTable } from '../../src/jobs/job-table.ts'
import { findStep } from '../../src/jobs/step-use.ts'

const wait = job({ name: 'wait' }, async (_: string, ctx) => ctx.waitFor('approval'))
const nap = job({ name: 'nap' }, async ({ ms }: { ms: number }, { sleep }) => sleep(ms))
const step = job({ name: 'step' }, async function (n: number, $c) {
  return $c.run(plain, n)
})
const plain = job({ name: 'plain' }, (n: number, ctx) => {
  // ctx.sleep(5) is not called here.
  ctx.log("not ctx.waitFor('x') either")
  const other = { ctx: { sleep: (ms: number) => ms } }
  return other.ctx.sleep(n)
})
const own = job({ name: 'own' }, (n: number) => n)
const thread = job({ name: 'thread', place: 'thread', module: import.meta.url }, (n: number, ctx) =>
  (ctx as unknown as { run(n: number): number }).run(n),
)

test('durable steps of a loop job are found in its function, and nothing else is', () => {
  assert.deepEqual(
    [wait, nap, step, plain, own, thread].map((each) => findStep(each as Job)),
    ['waitFor', 'sleep', 'run', undefined, undefined, undefined],
  )
})

test('serveJob() refuses a job with durable steps, and names the way', () => {
  assert.throws(() => serveJob({ name: 'wait', prepare: wait }), {
    code: 'HDL_BAD_OPTION',
    message: /ctx\.waitFor\(\).*POST \/runs/,
  })
  assert.throws(() => serveJob({ name: 'nap', prepare: own, item: nap as never, total: 2 }), {
    code: 'HDL_BAD_OPTION',
    message: /^Option "item".*ctx\.sleep\(\)/,
  })
})

test('a module may export jobs with steps beside its graphs: submitting one is refused at the door', () => {
  const table = jobTable({ own, wait })
  assert.equal(table.get('own')!.check(1), undefined)
  assert.match(table.get('wait')!.check('x')!, /ctx\.waitFor\(\).*POST \/runs/)
})
