import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UpdateAnswer } from '../../src/lease/offered-work.ts'
import { UnitReports } from '../../src/lease/unit-reports.ts'

/** Reports whose answers the test gives. */
class Sent {
  readonly reports: UnitReports
  readonly sent: { readonly sequence: number; readonly done: number }[] = []
  readonly ends: string[] = []
  #answer: PromiseWithResolvers<UpdateAnswer> = Promise.withResolvers()

  constructor() {
    this.reports = new UnitReports({
      send: (sequence, { done }) => {
        this.sent.push({ sequence, done })
        this.#answer = Promise.withResolvers()
        return this.#answer.promise
      },
      onClosed: ({ closed }) => this.ends.push(`closed: ${closed}`),
      onFailed: (error) => this.ends.push(String(error)),
    })
  }

  async answer(answer: UpdateAnswer | Error): Promise<void> {
    if (answer instanceof Error) this.#answer.reject(answer)
    else this.#answer.resolve(answer)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

const counted: UpdateAnswer = { counted: true }

test('U1: what is added while a report is under way is in the next one, with everything so far', async () => {
  const wire = new Sent()
  const { reports, sent } = wire
  for (let done = 1; done <= 4; done++) reports.add({ done, result: [done] })
  assert.deepEqual(sent, [{ sequence: 1, done: 1 }])
  await wire.answer(counted)
  assert.deepEqual(sent.at(-1), { sequence: 2, done: 4 })
  const settled = reports.settled()
  await wire.answer(counted)
  assert.equal(await settled, undefined)
  reports.add({ done: 5, result: [5] })
  assert.deepEqual(sent.at(-1), { sequence: 3, done: 5 })
})

test('U2: after an answer that ends the lease nothing is sent, and the end is known', async () => {
  const wire = new Sent()
  const { reports, sent, ends } = wire
  reports.add({ done: 1, result: [1] })
  reports.add({ done: 2, result: [2] })
  await wire.answer({ counted: true, closed: 'campaign_ended' })
  assert.equal(reports.isOver, true)
  assert.equal((await reports.settled())?.closed, 'campaign_ended')
  reports.add({ done: 3, result: [3] })
  assert.deepEqual([sent.length, ends], [1, ['closed: campaign_ended']])
})

test('U2: a report that was refused ends the reports, and is what settled() throws', async () => {
  const wire = new Sent()
  const { reports, sent, ends } = wire
  reports.add({ done: 1, result: [1] })
  reports.add({ done: 2, result: [2] })
  await wire.answer(new Error('refused'))
  await assert.rejects(reports.settled(), /refused/)
  assert.deepEqual([sent.length, ends], [1, ['Error: refused']])
})
