import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '@heddle/core/lowlevel'
import { until } from '../../../core/test/kernel/until.ts'
import { Stage } from '../support/stage.ts'
import { Served } from './kit.ts'

const skip = process.platform === 'win32' ? 'Windows has no signals of this kind' : false

/** Whether something is computed, or was acknowledged and is not done. */
async function hasComputations(served: Served): Promise<boolean> {
  const { computations } = (await served.get('/computations')).body
  return (computations as readonly unknown[]).length > 0
}

for (const seed of [1, 2, 3, 4, 5]) {
  test(
    `S100, V2 kill -9, seed ${seed}: acknowledged work is done once more at most, and readable`,
    { skip },
    async () => {
      await using stage = await Stage.open()
      const random = seededRandom(seed)
      const handles = new Map<string, string>()
      {
        using served = await Served.start(stage, '--threads', '2')
        const names = Array.from({ length: 4 + Math.floor(random.next() * 8) }, (_, i) => `n${i}`)
        // Some are done before the kill, one runs or two do, the rest is queued.
        const done = Math.floor(random.next() * 3)
        for (const name of names) {
          const priority = random.next() < 0.3 ? 0 : 1
          const { status, body } = await served.post(`/jobs/staged?priority=${priority}`, name)
          assert.equal(status, 202)
          handles.set(name, String(body['handle']))
        }
        for (let i = 0; i < done; i++) {
          // The next one starts when the one before is done, and says so a little later.
          await until(() => stage.starts.length > i)
          const name = stage.starts[i]!
          await stage.finish(name)
          await served.get(`/results/${handles.get(name)}/0?wait=600000`)
        }
        // A random moment, in the middle of another submit.
        const cut = served.post('/jobs/staged', 'cut').catch(() => undefined)
        if (random.next() < 0.5) await served.get('/healthz')
        served.kill('SIGKILL')
        assert.equal(await served.program.ended(), 'SIGKILL')
        await cut
      }
      for (const name of new Set(stage.starts)) await stage.left(name)
      const before = [...stage.starts]

      using again = await Served.start(stage)
      const finishing = [...handles.keys()].map(async (name) => {
        const reply = again.get(`/results/${handles.get(name)}/0?wait=600000`)
        // A result that was stored before the kill is found again without a start, at a moment of its own.
        await Promise.race([reply, stage.finish(name)])
        return reply
      })
      for (const [i, reply] of (await Promise.all(finishing)).entries()) {
        assert.deepEqual([reply.status, reply.body['result']], [200, `n${i} is done`])
      }
      // A request that was cut off may have been acknowledged without an answer: sending it again is harmless.
      const cutAgain = again.post('/jobs/staged?wait=600000', 'cut')
      await stage.finish('cut')
      assert.equal((await cutAgain).body['result'], 'cut is done')
      // Once in the second life.
      const after = stage.starts.slice(before.length)
      assert.equal(new Set(after).size, after.length)
      // A drain would leave an acknowledgement of the first life that has not got its turn yet, and say so with 1.
      await until(async () => !(await hasComputations(again)))
      again.kill('SIGTERM')
      assert.equal(await again.program.ended(), 0)

      using third = await Served.start(stage)
      for (const [name, handle] of handles) {
        const { status, body: stored } = await third.get(`/results/${handle}/0`)
        assert.deepEqual([status, stored['result']], [200, `${name} is done`])
      }
      assert.equal(third.program.stdout.includes('acknowledged before'), false)
    },
  )
}

test(
  'S100, S30 kill -9 between the two stages: the first is not run again, all results are made',
  { skip },
  async () => {
    await using stage = await Stage.open()
    let handle = ''
    {
      using served = await Served.start(stage, '--threads', '2')
      const { body } = await served.post('/jobs/book', 'b')
      handle = String(body['handle'])
      await stage.finish('b')
      // The result of the first stage is stored before the second begins.
      await stage.started('b 0')
      served.kill('SIGKILL')
      await served.program.ended()
    }
    await stage.left('b 0')
    const before = stage.starts.length
    using again = await Served.start(stage, '--threads', '2')
    assert.equal((await again.get(`/results/${handle}/-2`)).status, 202)
    const indices = [0, -1, -2]
    // One at a time, in any order: each ends when its turn comes.
    await Promise.all(indices.map((index) => stage.finish(`b ${index}`)))
    for (const index of indices) {
      const { status, body } = await again.get(`/results/${handle}/${index}?wait=600000`)
      assert.deepEqual([status, body['result']], [200, `b ${index} is done`])
    }
    const after = stage.starts.slice(before)
    assert.deepEqual(after.toSorted(), ['b -1', 'b -2', 'b 0'])
  },
)

for (const seed of [1, 2, 3]) {
  test(
    `S30, V2 kill -9 while hundreds of results are written, seed ${seed}: none that was promised is lost or torn`,
    { skip },
    async () => {
      await using stage = await Stage.open()
      const random = seededRandom(seed)
      const killAfter = 20 + Math.floor(random.next() * 200)
      const promised = new Map<number, string>()
      {
        using served = await Served.start(stage)
        let isOver = false
        const client = async (first: number): Promise<void> => {
          for (let n = first; !isOver; n += 8) {
            const reply = await served.post('/jobs/square', n).catch(() => undefined)
            if (reply?.status !== 202) continue
            promised.set(n, String(reply.body['handle']))
            if (promised.size < killAfter || isOver) continue
            isOver = true
            served.kill('SIGKILL')
          }
        }
        await Promise.all(Array.from({ length: 8 }, (_, i) => client(i)))
        assert.equal(await served.program.ended(), 'SIGKILL')
      }
      assert.ok(promised.size >= killAfter)
      using again = await Served.start(stage)
      for (const [n, handle] of promised) {
        const { status, body } = await again.get(`/results/${handle}/0?wait=600000`)
        assert.deepEqual([status, body['result']], [200, n * n])
      }
    },
  )
}
