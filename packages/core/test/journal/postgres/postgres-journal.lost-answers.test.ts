/** Calls that were carried out and whose answer was lost: the journal sends them again. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openDatabase, type TestDatabase } from '@heddle/test-servers'
import { copyRuns } from '../../../src/journal/copy-runs.ts'
import type { Journal, RunMessage } from '../../../src/journal/journal.ts'
import { openJournal } from '../../../src/journal/open-journal.ts'
import { keepAlive } from '../../../src/kernel/keep-alive.ts'
import { header, openRun, someone, step, story } from '../../../src/testing/journal/case.ts'
import { openLossyLink, type LossyLink } from './fixtures/lossy-link.ts'

let postgres: TestDatabase
let link: LossyLink
before(async () => {
  postgres = await openDatabase()
  link = await openLossyLink(postgres.address)
})
after(async () => {
  await link[Symbol.asyncDispose]()
  await postgres[Symbol.asyncDispose]()
})

let journals = 0

/** A journal, and one on the same tables whose answers can be lost. */
async function openBoth(
  retry: { readonly for?: number } = {},
): Promise<{ plain: Journal; lossy: Journal } & AsyncDisposable> {
  const words = `?schema=lost_${++journals}`
  const plain = await openJournal(postgres.address + words)
  const lossy = await openJournal(link.address + words, { retry })
  return {
    plain,
    lossy,
    async [Symbol.asyncDispose]() {
      await Promise.all([plain.stop(), lossy.stop()])
    },
  }
}

test('J4, J8: a run is opened when the answer to its reservation was lost', async () => {
  await using both = await openBoth()
  const lost = link.loseAnswerTo('open_run_')
  await using writer = await both.lossy.openRun({ ...header('r'), key: 'nightly' })
  await lost
  await writer.commit(step('a', 'succeeded'), 1)
  assert.equal((await both.plain.runs({ key: 'nightly' })).length, 1)
  assert.equal(await both.plain.valueOf('r', 'a'), 1)
  // The run is there once: of two that open it one is refused, also in the process that has it.
  for (const journal of [both.plain, both.lossy]) {
    await assert.rejects(openRun(journal, 'r'), { code: 'HDL_RUN_EXISTS' })
  }
})

test('J5: a run is resumed when the answer was lost, and by one of two that resume it', async () => {
  await using both = await openBoth()
  await (await openRun(both.plain, 'r'))[Symbol.asyncDispose]()
  const lost = link.loseAnswerTo('resume_run_')
  await using writer = await both.lossy.resumeRun('r', someone)
  await lost
  for (const journal of [both.plain, both.lossy]) {
    await assert.rejects(journal.resumeRun('r', someone), { code: 'HDL_LOCKED' })
  }
  await writer.commit(step('a', 'succeeded'), 2)
  assert.deepEqual(await story(both.plain, 'r', 2), ['run running', 'a succeeded'])
})

test('J9: a signal is delivered once when the answer to its sender was lost', async () => {
  await using both = await openBoth()
  await using writer = await openRun(both.plain, 'r')
  const received: string[] = []
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  writer.watch({
    onMessage: (message: RunMessage, mail) => {
      if (message.kind !== 'signal') return
      received.push(message.name)
      const row = step('a', 'running', { attempt: received.length })
      writer.commit(row, undefined, undefined, mail).catch(() => undefined)
      if (message.name === 'last') end()
    },
  })
  using _ = keepAlive()
  const lost = link.loseAnswerTo('post_run_')
  await both.lossy.post!('r', { kind: 'signal', name: 'approval', value: 1, by: 'a test' })
  await lost
  await both.lossy.post!('r', { kind: 'signal', name: 'last', value: 1, by: 'a test' })
  await ended
  assert.deepEqual(received, ['approval', 'last'])
})

test('Y1: a run is copied when the answer to its reservation was lost', async () => {
  await using both = await openBoth()
  await using source = await openJournal('memory')
  await using writer = await openRun(source, 'r')
  await writer.commit(step('a', 'succeeded'), 3)
  writer.setState('finished', 9)
  await writer.flush()
  const lost = link.loseAnswerTo('restore_run_')
  const { copied, present } = await copyRuns(source, both.lossy)
  await lost
  assert.deepEqual({ copied, present }, { copied: 1, present: 0 })
  assert.equal(await both.plain.valueOf('r', 'a'), 3)
})

test('J5, J8: what a process has taken without knowing is left when it takes another run', async () => {
  await using both = await openBoth({ for: 0 })
  await (await openRun(both.plain, 'old'))[Symbol.asyncDispose]()
  const failed = { code: 'HDL_STORE_FAILED' }
  let lost = link.loseAnswerTo('open_run_')
  await assert.rejects(both.lossy.openRun({ ...header('first'), key: 'nightly' }), failed)
  await lost
  lost = link.loseAnswerTo('resume_run_')
  await assert.rejects(both.lossy.resumeRun('old', someone), failed)
  await lost
  await using _ = await both.lossy.openRun({ ...header('second'), key: 'nightly' })
  await using writer = await both.plain.resumeRun('old', someone)
  await writer.commit(step('a', 'succeeded'), 4)
})

test('a run that a process has taken without knowing is left when it looks for runs that were left', async () => {
  await using both = await openBoth({ for: 0 })
  await (await openRun(both.plain, 'old'))[Symbol.asyncDispose]()
  const lost = link.loseAnswerTo('resume_run_')
  await assert.rejects(both.lossy.resumeRun('old', someone), { code: 'HDL_STORE_FAILED' })
  await lost
  assert.deepEqual(await both.plain.leftRuns!(), [])
  assert.deepEqual(await both.lossy.leftRuns!(), ['old'])
})
