/** Two servers on one PostgreSQL: the one that lives continues the runs of the one that was killed. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openDatabase, type TestDatabase } from '@heddle/test-servers'
import { reach } from '../../../core/test/kernel/until.ts'
import { Stage } from '../support/stage.ts'
import { fixture, Served, type Reply } from './kit.ts'

const skip = process.platform === 'win32' ? 'Windows has no signals of this kind' : false

let postgres: TestDatabase
before(async () => {
  postgres = await openDatabase()
})
after(() => postgres[Symbol.asyncDispose]())

/** A machine that is busy may not connect to its database in time, and says so: the client asks again. */
async function answered(ask: () => Promise<Reply>): Promise<Reply> {
  return reach(ask, ({ status, body }) => {
    if (status < 300) return true
    assert.equal(status, 503, JSON.stringify(body))
    return false
  })
}

test(
  'C5, U1 kill -9 of a server: another one continues its runs, and finished work is not repeated',
  { skip },
  async () => {
    await using stage = await Stage.open()
    const store = ['--jobs', fixture('woven.ts'), '--store', postgres.address]
    using one = await Served.start(stage, ...store)
    const { body } = await answered(() => one.post('/runs', { graph: 'cloth', key: 'today' }))
    await stage.finish('warp')
    await stage.started('weft')
    const first = stage.pidOf('weft')
    using two = await Served.start(stage, ...store)
    one.kill('SIGKILL')
    assert.equal(await one.program.ended(), 'SIGKILL')
    // On a machine that is very busy its lease may have run out before.
    if (stage.pidOf('weft') === first) await stage.left('weft')
    // Nothing is started here: the server that lives notices that the lease has run out.
    await stage.finish('weft')
    const run = String(body['run'])
    const events = await (await fetch(`${two.url}/runs/${run}/events?after=0`)).text()
    assert.match(events, /^event: end$/m)
    assert.equal(stage.starts.filter((name) => name === 'warp').length, 1)
    assert.notEqual(stage.pidOf('weft'), first)
    assert.match(two.program.stdout + two.program.stderr, /Resumed run/)
  },
)
