import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VirtualClock } from '@heddle/core/testing'
import { seededRandom } from '@heddle/core/lowlevel'
import { TagQueue } from '../../src/git/tag-queue.ts'

/** A repository that records requests. `refused` cannot be pushed. */
class PaperRepository {
  readonly batches: string[][] = []
  readonly pushes: string[][] = []
  readonly there = new Set<string>()
  refused: string | undefined

  makeTags(messages: ReadonlyMap<string, string>): Promise<ReadonlySet<string>> {
    const names = [...messages.keys()]
    this.batches.push(names)
    const made = names.filter((name) => !this.there.has(name))
    for (const name of made) this.there.add(name)
    return Promise.resolve(new Set(made))
  }

  push(_: string, tags: readonly string[]): Promise<void> {
    this.pushes.push([...tags])
    const isRefused = this.refused !== undefined && tags.includes(this.refused)
    return isRefused ? Promise.reject(new Error(`${this.refused} is protected`)) : Promise.resolve()
  }
}

function open(expected: number, remote?: string) {
  const clock = new VirtualClock()
  const repository = new PaperRepository()
  const kernel = { clock, random: seededRandom(1) }
  return { clock, repository, queue: new TagQueue({ repository, kernel, expected, remote }) }
}

test('T1 tags that are asked for within the window are made and pushed together', async () => {
  const { clock, repository, queue } = open(4, 'origin')
  const first = [queue.tag('a', 'a 1'), queue.tag('b', 'b 1')]
  await clock.advance(250)
  assert.deepEqual(await Promise.all(first), ['made', 'made'])
  assert.deepEqual(repository.batches, [['a', 'b']])
  assert.deepEqual(repository.pushes, [['a', 'b']])
})

test('T2 a tag that exists is reported and still pushed', async () => {
  const { repository, queue } = open(1, 'origin')
  repository.there.add('a')
  assert.equal(await queue.tag('a', 'a 1'), 'there')
  assert.deepEqual(repository.pushes, [['a']])
})

test('T4 a tag that the remote refuses fails alone', async () => {
  const { repository, queue } = open(3, 'origin')
  repository.refused = 'b'
  const asked = [queue.tag('a', 'a 1'), queue.tag('b', 'b 1'), queue.tag('c', 'c 1')]
  const ends = await Promise.allSettled(asked)
  assert.deepEqual(
    ends.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
})

test('T5 the last expected tag does not wait', async () => {
  const { clock, repository, queue } = open(2)
  const asked = [queue.tag('a', 'a 1'), queue.tag('b', 'b 1')]
  assert.deepEqual(await Promise.all(asked), ['made', 'made'])
  assert.equal(repository.batches.length, 1)
  assert.equal(clock.pending, 0)
})

test('T5 a package that needs no tag is not waited for', async () => {
  const { clock, repository, queue } = open(2)
  const asked = queue.tag('a', 'a 1')
  queue.leaveOut()
  assert.equal(await asked, 'made')
  assert.equal(repository.batches.length, 1)
  assert.equal(clock.pending, 0)
})

test('T5 the window doubles with each batch, up to 2 s', async () => {
  const { clock, repository, queue } = open(99)
  for (const [index, window] of [250, 500, 1_000, 2_000, 2_000].entries()) {
    const asked = queue.tag(`tag ${index}`, 'message')
    await clock.advance(window - 1)
    assert.equal(repository.batches.length, index, `before ${window} ms are over`)
    await clock.advance(1)
    assert.equal(await asked, 'made')
  }
})

test('T6 packages that share a tag share its answer', async () => {
  const { repository, queue } = open(3)
  const asked = ['a 1', 'b 1', 'c 1'].map((message) => queue.tag('v1', message))
  assert.deepEqual(await Promise.all(asked), ['made', 'made', 'made'])
  assert.deepEqual(repository.batches, [['v1']])
})

test('a caller that gives up leaves; the queue ends after its batch', async () => {
  const { clock, queue } = open(9)
  const signal = AbortSignal.abort(new Error('stop'))
  await assert.rejects(queue.tag('a', 'a 1', { signal }), { code: 'HDL_CANCELLED' })
  await queue[Symbol.asyncDispose]()
  assert.equal(clock.pending, 0)
})
