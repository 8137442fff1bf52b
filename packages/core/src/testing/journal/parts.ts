/** Parts of nodes, and signals: what growing graphs and durable steps need of a journal. */
import assert from 'node:assert/strict'
import type { Journal, PartDetail, RunMessage, Transition } from '../../journal/journal.ts'
import { all, node, openRun, someone, step, story, type ConformanceCase } from './case.ts'

function part(
  path: string,
  state: Transition['state'],
  more: Partial<PartDetail> = {},
): Transition {
  return step('a', state, { part: { path, ...more } })
}

const signal = (name: string, value: unknown): RunMessage => ({
  kind: 'signal',
  name,
  value,
  by: 'a test',
})

/** Waits for the next message of a run, without taking it. */
interface Received {
  readonly message: RunMessage
  readonly mail: number
}

class Mailbox {
  readonly received: Received[] = []
  #wake: (() => void) | undefined

  readonly onMessage = (message: RunMessage, mail: number): void => {
    this.received.push({ message, mail })
    this.#wake?.()
  }

  async wait(count: number): Promise<readonly Received[]> {
    while (this.received.length < count) {
      // heddle-ignore H313 -- a case of the test kit waits in one place at a time
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
    return this.received
  }
}

async function partsOf(journal: Journal, id: string, name: string): Promise<unknown[]> {
  const parts = await all(journal.parts(id, name))
  return parts.map(({ part: { path }, state, value }) => [path, state, value])
}

export const partCases: readonly ConformanceCase[] = [
  {
    title: 'J1: rows of parts are read in order, with their values, for one node at a time',
    async run(store) {
      await using journal = await store.open()
      const writer = await openRun(journal, 'r', 'a', 'b')
      writer.append(step('a', 'running'))
      await writer.commit(part('[1]', 'succeeded'), { deep: ['value'] })
      writer.append(part('[0]', 'failed'))
      await writer.commit(step('b', 'succeeded', { part: { path: '[0]' } }), 'other')
      writer.append(part('sleep#0', 'suspended', { until: 77 }))
      await writer.commit(part('run:pay#0', 'succeeded', { job: 'pay', input: 'mark' }))
      assert.deepEqual(await partsOf(journal, 'r', 'a'), [
        ['[1]', 'succeeded', { deep: ['value'] }],
        ['[0]', 'failed', undefined],
        ['sleep#0', 'suspended', undefined],
        ['run:pay#0', 'succeeded', undefined],
      ])
      const [first, , third, last] = await all(journal.parts('r', 'a'))
      assert.deepEqual(first!.part, { path: '[1]' })
      assert.deepEqual(third!.part, { path: 'sleep#0', until: 77 })
      assert.deepEqual(last!.part, { path: 'run:pay#0', job: 'pay', input: 'mark' })
      const rest = await all(journal.parts('r', 'a', { from: first!.position, values: false }))
      assert.deepEqual(
        rest.map(({ part: { path } }) => path),
        ['[0]', 'sleep#0', 'run:pay#0'],
      )
      assert.deepEqual(await partsOf(journal, 'r', 'unknown'), [])
    },
  },
  {
    title: 'J1: a part is neither a state nor a result of its node',
    async run(store) {
      await using journal = await store.open()
      const writer = await openRun(journal, 'r', 'a')
      writer.append(step('a', 'running'))
      await writer.commit(part('[0]', 'succeeded'), 'element')
      writer.append(part('[1]', 'failed'))
      await writer.flush()
      const { nodes, counts } = await journal.snapshot('r')
      assert.equal(nodes[0]!.state, 'running')
      assert.equal(nodes[0]!.hasValue, false)
      assert.deepEqual(nodes[0]!.parts, { succeeded: 1, failed: 1 })
      assert.deepEqual(counts, { running: 1 })
      assert.deepEqual(await all(journal.results('r')), [])
      assert.ok((await story(journal, 'r')).includes('a [0] succeeded'))
    },
  },
  {
    title: 'J2: many parts, and a large value of one, are read back after the journal was closed',
    needs: ['lasting'],
    async run(store) {
      const large = Array.from({ length: 200_000 }, (_, index) => `line ${index}`)
      {
        await using journal = await store.open()
        const writer = await openRun(journal, 'r', 'a')
        const commits: Promise<void>[] = []
        for (let index = 0; index < 1_500; index++) {
          const value = index === 700 ? large : index
          commits.push(writer.commit(part(`[${index}]`, 'succeeded'), value))
        }
        await Promise.all(commits)
      }
      await using journal = await store.open()
      let index = 0
      for await (const { part: found, value } of journal.parts('r', 'a')) {
        assert.equal(found.path, `[${index}]`)
        assert.deepEqual(value, index === 700 ? large : index)
        index++
      }
      assert.equal(index, 1_500)
    },
  },
  {
    title: 'J4: parent, growth, clean-up and version of a node are kept',
    async run(store) {
      await using journal = await store.open()
      const child = {
        ...node('a/one'),
        parent: 'a',
        grows: 'map' as const,
        map: { key: 'a function' },
        when: 'always' as const,
        version: '2',
        redact: ['password'],
      }
      const writer = await openRun(journal, 'r', 'a')
      writer.addNodes([child])
      await writer.flush()
      const { nodes } = await journal.snapshot('r')
      const { name, parent, grows, map, when, version, redact } = nodes[1]!
      const { job: _job, place: _place, after: _after, ...said } = child
      assert.deepEqual({ name, parent, grows, map, when, version, redact }, said)
    },
  },
  {
    title: 'J9: a signal stays in the mailbox until it is taken, and is then delivered no more',
    needs: ['post'],
    async run(store) {
      await using journal = await store.open()
      const writer = await openRun(journal, 'r', 'a')
      const mailbox = new Mailbox()
      writer.watch(mailbox)
      await journal.post!('r', signal('approval', { by: ['Ada'] }))
      await journal.post!('r', signal('approval', 2))
      const [first, second] = await mailbox.wait(2)
      assert.deepEqual(first!.message, signal('approval', { by: ['Ada'] }))
      await writer.commit(part('wait:approval#0', 'succeeded'), 'taken', undefined, first!.mail)
      await writer[Symbol.asyncDispose]()
      const again = await journal.resumeRun('r', someone)
      const left = new Mailbox()
      again.watch(left)
      const [kept] = await left.wait(1)
      assert.deepEqual(kept!.message, second!.message)
      await again.commit(part('wait:approval#1', 'succeeded'), 'taken', undefined, kept!.mail)
      assert.equal(left.received.length, 1)
    },
  },
  {
    title: 'J9: a signal that is read before the run watches for it is delivered when it does',
    needs: ['post'],
    async run(store) {
      await using journal = await store.open()
      const writer = await openRun(journal, 'r', 'a')
      await journal.post!('r', signal('go', 1))
      // Another one, so that the first has been read however the journal reads its mail.
      await journal.post!('r', signal('go', 2))
      const mailbox = new Mailbox()
      writer.watch(mailbox)
      const received = await mailbox.wait(2)
      assert.deepEqual(
        received.map(({ message }) => message),
        [signal('go', 1), signal('go', 2)],
      )
    },
  },
  {
    title:
      'J9: a signal that was sent while no process ran the run is delivered when it is resumed',
    needs: ['post', 'lasting'],
    async run(store) {
      {
        await using journal = await store.open()
        const writer = await openRun(journal, 'r', 'a')
        await writer[Symbol.asyncDispose]()
        await journal.post!('r', signal('go', undefined))
      }
      await using journal = await store.open()
      const writer = await journal.resumeRun('r', someone)
      const mailbox = new Mailbox()
      writer.watch(mailbox)
      const [received] = await mailbox.wait(1)
      assert.deepEqual(received!.message, signal('go', undefined))
    },
  },
]
