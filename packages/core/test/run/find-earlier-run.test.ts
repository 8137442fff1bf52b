import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { hostname } from 'node:os'
import test, { after, before } from 'node:test'
import { isError, run } from '@heddle/core'
import { openDatabase, type TestDatabase } from '@heddle/test-servers'
import { systemClock } from '../../src/kernel/clock.ts'
import { readAddress } from '../../src/store/postgres/address.ts'
import { Link } from '../../src/store/postgres/database-link.ts'
import { header } from '../../src/testing/journal/case.ts'
import { CountedGraph, cutOff, journals, openFor } from './kit.ts'

const diamond = { a: [], b: ['a'], c: ['a'], d: ['b', 'c'] }

let postgres: TestDatabase
before(async () => {
  postgres = await openDatabase()
})
after(() => postgres[Symbol.asyncDispose]())

for (const [kind, openEmpty] of Object.entries(journals)) {
  test(`${kind}: resume: true and from refuse a run that a process holds, and name the process`, async (t) => {
    const journal = await openEmpty(t)
    const title = 'nightly'
    const by = { pid: process.pid, host: hostname(), command: 'heddle run nightly.ts' }
    await using _held = await journal.openRun({ ...header('held'), ...by, title })
    const { graph, calls } = new CountedGraph().add(diamond)
    const isLocked = (error: unknown): boolean =>
      isError(error, 'HDL_LOCKED') && error.message.includes(`pid ${process.pid} on ${by.host}`)
    await assert.rejects(run(graph, { journal, title, resume: true }), isLocked)
    await assert.rejects(run(graph, { journal, title, from: 'a' }), isLocked)
    const other = run(graph, { journal, title: 'weekly', resume: true })
    await assert.rejects(other, { code: 'HDL_UNKNOWN_RUN' })
    assert.deepEqual(calls, [])
  })

  test(`${kind}: a run that a process holds is passed where there is an older one`, async (t) => {
    const journal = await openEmpty(t)
    const title = 'nightly'
    const first = new CountedGraph().add(diamond)
    const { run: id } = await run(first.graph, { journal, title })
    const by = { pid: process.pid, host: hostname() }
    await using _held = await journal.openRun({ ...header('held'), ...by, title })
    const { graph, calls } = new CountedGraph().add(diamond)
    assert.equal((await run(graph, { journal, title, resume: true })).run, id)
    const again = await run(graph, { journal, title, from: 'd' })
    assert.deepEqual([again.reused, calls], [['a', 'b', 'c'], ['d']])
  })
}

for (const isNamed of [true, false]) {
  const title = isNamed ? 'resume: ID waits' : 'resume: true waits'
  test(`${title} until the lease of a process that was killed has run out`, async (t) => {
    const schema = isNamed ? 'killed_named' : 'killed_last'
    const address = `${postgres.address}?schema=${schema}`
    const journal = await openFor(t, address)
    const memory = await openFor(t, 'memory')
    const whole = new CountedGraph().add(diamond)
    const { run: original } = await run(whole.graph, { journal: memory, concurrency: 1 })
    await run(whole.graph, { journal })
    const id = await cutOff(memory, original!, 8, journal)
    const admin = new Link({ address: readAddress(address), clock: systemClock })
    t.after(() => admin.close())
    const dead = spawnSync(process.execPath, ['--version']).pid
    await admin.call(
      'hold',
      `SELECT ${schema}.hold_1('dead', 86400000);
        UPDATE ${schema}.run SET holder = 'dead', pid = ${dead}, host = '${hostname()}' WHERE id = '${id}'`,
    )
    assert.equal((await journal.overview(id)).state, 'running')
    const states: string[] = []
    const overview = journal.overview.bind(journal)
    journal.overview = async (which) => {
      const found = await overview(which)
      states.push(found.state)
      await admin.call('end the lease', `SELECT ${schema}.hold_1('dead', 0)`)
      return found
    }
    const again = new CountedGraph().add(diamond)
    const options = { journal, resume: isNamed ? id : true, concurrency: 1 }
    const result = await run(again.graph, options)
    assert.deepEqual([result.ok, result.run], [true, id])
    assert.ok(states.includes('running'), 'it has waited')
    assert.deepEqual(again.calls, Object.keys(diamond).slice(result.reused.length))
  })
}
