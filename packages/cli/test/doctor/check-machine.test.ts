import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { run } from '@heddle/core'
import {
  checkJournal,
  checkLoopWatch,
  checkNode,
  checkSqlite,
  checkTerminal,
  checkThreads,
} from '../../src/doctor/check-machine.ts'
import { graphOf } from '../support/graphs.ts'

test('this machine passes the checks that the tests need', async () => {
  for (const check of [
    checkNode(),
    await checkSqlite(),
    await checkThreads(),
    await checkLoopWatch(),
  ]) {
    assert.equal(check.ok, true, `${check.name}: ${check.found}`)
    assert.equal(check.help, undefined)
  }
})

test('on an older Node the check names the version to install', () => {
  assert.deepEqual(
    ['22.17.1', '22.18.0', '24.0.0', '20.99.0'].map((version) => checkNode(version).ok),
    [false, true, true, false],
  )
  assert.match(checkNode('20.1.0').help!, /22\.18/)
})

test('the terminal is described, with the reason for plain lines', () => {
  const terminal = { env: {}, platform: 'linux', isTerminal: true } as const
  assert.equal(checkTerminal(terminal, [80, 24]).found, 'live view, 80 × 24, Unicode')
  assert.equal(
    checkTerminal({ ...terminal, isTerminal: false }, undefined).found,
    'plain lines: the output is not a terminal',
  )
})

test('a journal is checked without being changed; a missing one is reported', async (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-doctor-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const address = `sqlite:${path.join(folder, 'runs.db')}`
  const missing = await checkJournal(address)
  assert.equal(missing.ok, false)
  assert.ok(missing.help !== undefined)
  await run(graphOf('a'), { journal: address })
  const found = await checkJournal(address)
  assert.equal(found.ok, true, found.found)
  assert.match(found.found, /: 1 run$/)
})
