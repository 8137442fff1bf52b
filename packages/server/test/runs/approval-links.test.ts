import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeddleError } from '@heddle/core'
import { openStore, seededRandom } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { ApprovalLinks } from '../../src/runs/approval-links.ts'
import { approvals, runTables } from '../../src/runs/runs-tables.ts'

async function open() {
  const clock = new VirtualClock()
  const kernel = { clock, random: seededRandom(1) }
  const { tables } = await openStore('memory', { tables: runTables, kernel })
  const sent: unknown[][] = []
  const place = { failure: undefined as HeddleError | undefined }
  const links = new ApprovalLinks({
    tables,
    send: async (...given) => {
      if (place.failure !== undefined) throw place.failure
      sent.push(given)
    },
  })
  const request = { run: 'r', signal: 's', text: '', choices: ['yes'], expiresIn: 1_000, by: 'ada' }
  return { clock, tables, sent, place, links, request }
}

const isBadLink = (error: { code: string }): boolean => error.code === 'HDL_BAD_LINK'

test('A3 the store has the hash of a link only; it ends with its time', async () => {
  const { clock, tables, sent, links, request } = await open()
  const { secret } = await links.make(request)
  const stored = JSON.stringify(await tables.list(approvals))
  assert.equal(stored.includes(secret), false)
  assert.equal((await links.look(secret)).signal, 's')
  await clock.advance(1_000)
  await assert.rejects(links.look(secret), isBadLink)
  await assert.rejects(links.answer(secret, 'yes'), isBadLink)
  assert.deepEqual(sent, [])
  await clock.advance(600_001)
  await links.make(request)
  assert.equal((await tables.list(approvals)).length, 1, 'old ones are removed')
})

test('A1, A4 a link is used once, and not by an answer that could not be delivered', async () => {
  const { sent, place, links, request } = await open()
  const { secret } = await links.make(request)
  place.failure = new HeddleError('HDL_DRAINING', { what: 'The store' })
  await assert.rejects(links.answer(secret, 'yes'), (error: { code: string }) => {
    return error.code === 'HDL_DRAINING'
  })
  place.failure = undefined
  await links.answer(secret, 'yes')
  await assert.rejects(links.answer(secret, 'yes'), isBadLink)
  assert.deepEqual(sent, [['r', 's', 'yes', 'approval link of ada']])
})
