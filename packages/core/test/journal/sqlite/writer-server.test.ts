import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { DatabaseSync } from 'node:sqlite'
import type {
  BatchWire,
  FromWriter,
  RunChange,
  ToWriter,
} from '../../../src/journal/sqlite/messages.ts'
import { WriterServer, type WriterPort } from '../../../src/journal/sqlite/writer-server.ts'
import { newFolder } from './store-folder.ts'

/** A thread's port in which messages can wait. */
class Rig implements WriterPort {
  readonly answers: FromWriter[] = []
  readonly waiting: ToWriter[] = []
  readonly idle: (() => void)[] = []
  readonly file: string
  readonly server: WriterServer

  constructor(folder: string) {
    this.file = path.join(folder, 'runs.db')
    const data = { file: this.file, durability: 'process', pid: 7, openedAt: 5 } as const
    this.server = new WriterServer(data, this)
    this.server.accept({ id: 1, type: 'open' })
  }

  post(message: FromWriter): void {
    this.answers.push(message)
  }

  next(): ToWriter | undefined {
    return this.waiting.shift()
  }

  nextSoon(): ToWriter | undefined {
    return this.next()
  }

  now(): number {
    return 0
  }

  whenIdle(_quiet: number, callback: () => void): void {
    this.idle.push(callback)
  }

  /** All of them have arrived before the thread looks. */
  accept(...messages: ToWriter[]): FromWriter[] {
    this.answers.length = 0
    this.waiting.push(...messages)
    this.server.accept(this.waiting.shift()!)
    return [...this.answers]
  }

  count(): number {
    using database = new DatabaseSync(this.file, { readOnly: true })
    return database.prepare('SELECT count(*) AS rows FROM history').get()!['rows'] as number
  }

  [Symbol.dispose](): void {
    this.server.accept({ id: 99, type: 'close', at: 9 })
  }
}

function batch(number: number, count = 1, broken = false): BatchWire {
  const row = [1, 0, 'a', broken ? 'not a number' : 2, 0, 0, null]
  return {
    batch: number,
    first: number * 100,
    rows: Array.from({ length: count }).flatMap(() => row),
    results: [],
    bodies: undefined,
    hasFiles: false,
    changes: [],
  }
}

test('what has arrived is written together and acknowledged once', async () => {
  await using folder = await newFolder()
  using rig = new Rig(folder.path)
  assert.deepEqual(rig.accept(batch(1), batch(2, 40), batch(3)), [{ durable: 3 }])
  assert.deepEqual(rig.accept(batch(4)), [{ durable: 4 }])
  assert.equal(rig.count(), 43)
})

test('questions are answered in their turn: after the rows before them, before those behind', async () => {
  await using folder = await newFolder()
  using rig = new Rig(folder.path)
  const opening: BatchWire = { ...batch(2), changes: [opened] }
  const find = (id: number): ToWriter => ({ id, type: 'find', run: 'r' })
  assert.deepEqual(rig.accept(batch(1), find(2), opening, batch(3), find(3)), [
    { durable: 1 },
    { id: 2, value: undefined },
    { durable: 3 },
    { id: 3, value: { run: 1, state: 1 } },
  ])
})

test('a very long line of batches is written in several groups', async () => {
  await using folder = await newFolder()
  using rig = new Rig(folder.path)
  const batches = Array.from({ length: 30 }, (_, i) => ({ ...batch(i, 1000), first: i * 1000 }))
  const answers = rig.accept(...batches)
  assert.deepEqual(answers, [{ durable: 16 }, { durable: 29 }])
  assert.equal(rig.count(), 30_000)
})

test('D1, D2: a group with a row that cannot be written is not there at all, and is the last', async () => {
  await using folder = await newFolder()
  using rig = new Rig(folder.path)
  rig.accept(batch(1))
  const [answer] = rig.accept(batch(2, 50), batch(3, 50, true), batch(4))
  assert.ok(answer !== undefined && 'failure' in answer)
  assert.equal(answer.failure.heddle?.code, 'HDL_STORE_FAILED')
  assert.deepEqual(rig.accept(batch(5)), [])
  assert.equal(rig.count(), 1)
})

test('what opening fails with is the answer', async () => {
  await using folder = await newFolder()
  const rig = new Rig(path.join(folder.path, 'x'))
  const blocked = new Rig(rig.file)
  const [answer] = blocked.answers
  assert.ok(answer !== undefined && 'error' in answer)
  assert.equal(answer.error.heddle?.code, 'HDL_STORE_FAILED')
  rig[Symbol.dispose]()
})

const opened: RunChange = {
  type: 'open',
  run: 1,
  id: 'r',
  title: 't',
  startedAt: 1,
  holder: { pid: 1, host: 'h', command: 'c' },
  options: new Uint8Array(0),
}
const ended: RunChange = { type: 'state', run: 1, state: 4, endedAt: 5 }

/** How the nodes of the only run were counted; null when they were not. */
function countsIn(rig: Rig): unknown {
  using database = new DatabaseSync(rig.file, { readOnly: true })
  return database.prepare('SELECT counts FROM run').get()!['counts']
}

test('counting the nodes of an ended run waits until nobody waits', async () => {
  await using folder = await newFolder()
  using rig = new Rig(folder.path)
  rig.accept({ ...batch(1, 30), changes: [opened] }, { ...batch(2), changes: [ended] })
  assert.equal(countsIn(rig), null)
  assert.equal(rig.idle.length, 1)
  rig.idle.shift()!()
  assert.equal(countsIn(rig), '{"running":1}')
  assert.equal(rig.idle.length, 0)
})

test('idle work waits for a quiet time: a message starts it anew', async () => {
  await using folder = await newFolder()
  using rig = new Rig(folder.path)
  rig.accept({ ...batch(1), changes: [opened, ended] })
  rig.accept(batch(2))
  rig.idle.shift()!()
  assert.equal(countsIn(rig), null)
  assert.equal(rig.idle.length, 1)
  rig.idle.shift()!()
  assert.equal(countsIn(rig), '{"running":1}')
})

test('law 3: idle work is put off for a while, not for as long as messages come', async () => {
  await using folder = await newFolder()
  using rig = new Rig(folder.path)
  rig.accept({ ...batch(1), changes: [opened, ended] })
  let puttingsOff = 0
  for (; rig.idle.length > 0 && puttingsOff < 1000; puttingsOff++) {
    rig.accept(batch(2 + puttingsOff))
    rig.idle.shift()!()
  }
  assert.notEqual(countsIn(rig), null)
  assert.ok(puttingsOff > 10, `${puttingsOff} times`)
})
