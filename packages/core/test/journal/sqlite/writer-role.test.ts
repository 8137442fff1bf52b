import assert from 'node:assert/strict'
import { rmSync, statSync, truncateSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { DatabaseSync } from 'node:sqlite'
import type { BatchWire, RunChange } from '../../../src/journal/batch.ts'
import type {
  ClaimWire,
  WriterChange,
  WriterQuestion,
} from '../../../src/journal/sqlite/journal-messages.ts'
import { JournalWriterRole } from '../../../src/journal/sqlite/writer-role.ts'
import { HeddleError } from '../../../src/errors.ts'
import { encodeError } from '../../../src/threads/error-wire.ts'
import { HostServer, type HostPort } from '../../../src/sqlite/host-server.ts'
import type { HostAnswer, HostAnswers, HostMessage } from '../../../src/sqlite/host-messages.ts'
import { newFolder } from './store-folder.ts'

const turn = (): Promise<void> => new Promise((done) => setImmediate(done))

/** A thread's port in which messages can wait. */
class Rig implements HostPort {
  readonly messages: HostAnswers[] = []
  readonly waiting: HostMessage[] = []
  readonly idle: (() => void)[] = []
  readonly file: string
  now = 0
  readonly #server: HostServer
  #lastId = 0

  private constructor(folder: string) {
    this.file = path.join(folder, 'runs.db')
    const data = {
      file: this.file,
      durability: 'process',
      pid: 7,
      openedAt: 5,
      lock: 'test',
    } as const
    this.#server = new HostServer(new JournalWriterRole(data), this)
  }

  static async open(folder: string): Promise<Rig> {
    const rig = new Rig(folder)
    rig.#server.accept({ now: 0, requests: [{ id: 0, open: true }] })
    await turn()
    return rig
  }

  post(message: HostAnswers): void {
    this.messages.push(message)
  }

  next(): HostMessage | undefined {
    return this.waiting.shift()
  }

  nextSoon(): HostMessage | undefined {
    return this.next()
  }

  whenIdle(_quiet: number, callback: () => void): void {
    this.idle.push(callback)
  }

  /** All of them have arrived before the thread checks. Returns the answers by message. */
  accept(...requests: (WriterChange | WriterQuestion)[]): (readonly HostAnswer[])[] {
    this.messages.length = 0
    for (const request of requests) {
      const id = ++this.#lastId
      const wire =
        'type' in request ? { id, role: 0, ask: request } : { id, role: 0, change: request }
      this.waiting.push({ now: this.now, requests: [wire] })
    }
    this.#server.accept(this.waiting.shift()!)
    return this.messages.map(({ answers }) => answers)
  }

  count(): number {
    using database = new DatabaseSync(this.file, { readOnly: true })
    return database.prepare('SELECT count(*) AS rows FROM history').get()!['rows'] as number
  }

  [Symbol.dispose](): void {
    this.#server.accept({ now: 0, requests: [{ id: 99, close: 9 }] })
  }
}

const codeOf = (answer: HostAnswer): string | undefined =>
  'error' in answer ? answer.error.heddle?.code : undefined

/** Answers to the requests with these ids: the number of the commit. */
const durable = (commit: number, from: number, to: number): HostAnswer[] =>
  Array.from({ length: to - from + 1 }, (_, i) => ({ id: from + i, value: commit }))

function batch(number: number, count = 1, broken = false): BatchWire {
  const row = [1, 0, 'a', broken ? 'not a number' : 2, 0, 0, null]
  return {
    batch: number,
    rows: Array.from({ length: count }).flatMap(() => row),
    results: [],
    bodies: undefined,
    hasFiles: false,
    changes: [],
  }
}

test('rows that arrived together are written together and acknowledged once', async () => {
  await using folder = await newFolder()
  using rig = await Rig.open(folder.path)
  assert.deepEqual(rig.accept(batch(1), batch(2, 40), batch(3)), [durable(1, 1, 3)])
  assert.deepEqual(rig.accept(batch(4)), [durable(2, 4, 4)])
  assert.equal(rig.count(), 43)
})

test('questions are answered in their turn: after the rows before them, before the rows behind them', async () => {
  await using folder = await newFolder()
  using rig = await Rig.open(folder.path)
  const opening: BatchWire = { ...batch(2), changes: [opened] }
  const find = { type: 'find', run: 'r' } as const
  assert.deepEqual(rig.accept(claimed, find, opening, batch(3), find), [
    [{ id: 1, value: { run: 1 } }],
    [{ id: 2, value: undefined }],
    durable(2, 3, 4),
    [{ id: 5, value: { run: 1, state: 1 } }],
  ])
})

test('a very long line of batches is written in several groups', async () => {
  await using folder = await newFolder()
  using rig = await Rig.open(folder.path)
  const batches = Array.from({ length: 30 }, (_, i) => ({ ...batch(i, 1000) }))
  const answers = rig.accept(...batches)
  assert.deepEqual(answers, [durable(1, 1, 17), durable(2, 18, 30)])
  assert.equal(rig.count(), 30_000)
})

const isStalled = (answer: HostAnswer): boolean =>
  'value' in answer && Object.hasOwn(answer.value as object, 'stalled')

test('D1: a group with a row that cannot be written is not there at all', async () => {
  await using folder = await newFolder()
  using rig = await Rig.open(folder.path)
  rig.accept(batch(1))
  const [answers] = rig.accept(batch(2, 50), batch(3, 50, true), batch(4))
  assert.deepEqual(answers!.map(isStalled), [true, true, true])
  assert.equal(rig.count(), 1)
})

test('R1: rows that could not be written keep their order, and are written together when they can be', async () => {
  await using folder = await newFolder()
  using rig = await Rig.open(folder.path)
  rig.accept(claimed, { ...batch(1), changes: [opened] })
  const change = (sql: string): void => {
    using database = new DatabaseSync(rig.file)
    database.exec(sql)
  }
  const raise = "BEGIN SELECT RAISE(ABORT, 'broken by a test'); END"
  change(`CREATE TRIGGER broken BEFORE INSERT ON history ${raise}`)
  assert.deepEqual(rig.accept(batch(2), batch(3))[0]!.map(isStalled), [true, true])
  // This one could be written; it waits for those before it.
  const late = { ...claimed, id: 'late' }
  assert.deepEqual(rig.accept(late)[0]!.map(isStalled), [true])
  assert.deepEqual(rig.accept({ type: 'retry' })[0]!.map(isStalled), [true])
  assert.equal(rig.count(), 1)
  change('DROP TRIGGER broken')
  const [[answer] = []] = rig.accept({ type: 'retry' })
  const { value } = answer as { value: { answers: unknown[] } }
  assert.deepEqual(value.answers, [2, 2, { run: 2 }])
  assert.equal(rig.count(), 3)
  assert.deepEqual(rig.accept(batch(4))[0], durable(3, 8, 8))
})

test('R1: rows that were given up are not written, nor any row after them', async () => {
  await using folder = await newFolder()
  using rig = await Rig.open(folder.path)
  rig.accept(batch(1, 1, true))
  const error = encodeError(
    new HeddleError('HDL_STORE_FAILED', { store: 'x', action: 'be written', cause: 'y' }),
  )
  rig.accept({ type: 'give up', error })
  assert.deepEqual(rig.accept(batch(2))[0]!.map(codeOf), ['HDL_STORE_FAILED'])
  assert.deepEqual(rig.accept({ type: 'retry' })[0]!.map(codeOf), ['HDL_STORE_FAILED'])
  assert.equal(rig.count(), 0)
})

test('the error of opening is the answer, also to the requests behind it', async () => {
  await using folder = await newFolder()
  using rig = await Rig.open(path.join(folder.path, 'x'))
  const blocked = await Rig.open(rig.file)
  assert.deepEqual(blocked.messages[0]!.answers.map(codeOf), ['HDL_STORE_FAILED'])
  assert.deepEqual(blocked.accept(batch(1))[0]!.map(codeOf), ['HDL_STORE_FAILED'])
})

test('a file that was deleted fails the end of a run, and the rows after a moment', async () => {
  for (const changes of [[ended], []]) {
    await using folder = await newFolder()
    using rig = await Rig.open(folder.path)
    rig.accept(claimed, { ...batch(1), changes: [opened] })
    rmSync(rig.file)
    const [answers] = rig.accept({ ...batch(2), changes })
    if (changes.length > 0) assert.deepEqual(answers!.map(codeOf), ['HDL_JOURNAL_GONE'])
    else assert.deepEqual(answers, durable(2, 3, 3))
    rig.now = 100
    assert.deepEqual(rig.accept(batch(3))[0]!.map(codeOf), ['HDL_JOURNAL_GONE'])
  }
})

test('when the file was emptied in place, the end of a run fails at once, and other rows a moment later', async () => {
  for (const suffix of ['', '-wal']) {
    for (const changes of [[ended], []]) {
      await using folder = await newFolder()
      using rig = await Rig.open(folder.path)
      rig.accept(claimed, { ...batch(1), changes: [opened] })
      truncateSync(`${rig.file}${suffix}`, 0)
      const [answers] = rig.accept({ ...batch(2), changes })
      if (changes.length > 0) assert.deepEqual(answers!.map(codeOf), ['HDL_JOURNAL_GONE'])
      else assert.deepEqual(answers, durable(2, 3, 3))
      rig.now = 100
      assert.deepEqual(rig.accept(batch(3))[0]!.map(codeOf), ['HDL_JOURNAL_GONE'])
    }
  }
})

test('a write that fails because the file was cut short is not tried again', async () => {
  for (const size of [1, 4096, 5000, 8192, 12_288, 16_384, 40_960]) {
    await using folder = await newFolder()
    using rig = await Rig.open(folder.path)
    rig.accept(claimed, { ...batch(1, 16_000), changes: [opened] })
    while (rig.idle.length > 0) rig.idle.shift()!()
    // Another process has written: what this one has of the file in memory is not used any more.
    using other = new DatabaseSync(rig.file)
    other.exec('PRAGMA wal_checkpoint(TRUNCATE); UPDATE counter SET position = position')
    truncateSync(rig.file, size)
    assert.deepEqual(rig.accept(batch(2))[0]!.map(codeOf), ['HDL_JOURNAL_GONE'])
    assert.deepEqual(rig.accept({ type: 'retry' })[0]!.map(codeOf), ['HDL_JOURNAL_GONE'])
  }
})

test('the log is not moved into a database that was emptied: the hole would be filled', async () => {
  await using folder = await newFolder()
  using rig = await Rig.open(folder.path)
  rig.accept(claimed, { ...batch(1, 16_000), changes: [opened] })
  truncateSync(rig.file, 0)
  while (rig.idle.length > 0) rig.idle.shift()!()
  assert.equal(statSync(rig.file).size, 0)
  assert.deepEqual(rig.accept(batch(500))[0]!.map(codeOf), ['HDL_JOURNAL_GONE'])
})

const claimed: ClaimWire = {
  claim: 'new',
  id: 'r',
  key: undefined,
  title: 't',
  startedAt: 1,
  holder: { pid: 1, host: 'h', command: 'c' },
  options: new Uint8Array(0),
}
const opened: RunChange = { type: 'open', run: 1 }
const ended: RunChange = { type: 'state', run: 1, state: 4, endedAt: 5 }

/** How the nodes of the only run were counted; null when they were not. */
function countsIn(rig: Rig): unknown {
  using database = new DatabaseSync(rig.file, { readOnly: true })
  return database.prepare('SELECT counts FROM run').get()!['counts']
}

test('counting the nodes of an ended run is put off until no caller waits', async () => {
  await using folder = await newFolder()
  using rig = await Rig.open(folder.path)
  rig.accept(claimed, { ...batch(1, 30), changes: [opened] }, { ...batch(2), changes: [ended] })
  assert.equal(countsIn(rig), null)
  assert.equal(rig.idle.length, 1)
  rig.idle.shift()!()
  assert.equal(countsIn(rig), '{"running":1}')
  assert.equal(rig.idle.length, 0)
})

test('idle work waits for a quiet time: a message restarts the wait', async () => {
  await using folder = await newFolder()
  using rig = await Rig.open(folder.path)
  rig.accept(claimed, { ...batch(1), changes: [opened, ended] })
  rig.accept(batch(2))
  rig.idle.shift()!()
  assert.equal(countsIn(rig), null)
  assert.equal(rig.idle.length, 1)
  rig.idle.shift()!()
  assert.equal(countsIn(rig), '{"running":1}')
})

test('law 3: idle work is put off for a while, not for as long as messages come', async () => {
  await using folder = await newFolder()
  using rig = await Rig.open(folder.path)
  rig.accept(claimed, { ...batch(1), changes: [opened, ended] })
  let puttingsOff = 0
  for (; rig.idle.length > 0 && puttingsOff < 1000; puttingsOff++) {
    rig.accept(batch(2 + puttingsOff))
    rig.idle.shift()!()
  }
  assert.notEqual(countsIn(rig), null)
  assert.ok(puttingsOff > 10, `${puttingsOff} times`)
})
