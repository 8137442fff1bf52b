import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DatabaseSync } from 'node:sqlite'
import { HeddleError, describe } from '../../src/errors.ts'
import {
  HostServer,
  type HostedFile,
  type HostPort,
  type Receiver,
  type Role,
} from '../../src/sqlite/host-server.ts'
import type { HostAnswer, HostMessage, HostRequest } from '../../src/sqlite/host-messages.ts'

const turn = (): Promise<void> => new Promise((done) => setImmediate(done))

/** Keeps words in a table; 'bad' cannot be kept. */
class WordRole implements Role<string, string, string> {
  readonly #database: DatabaseSync
  readonly #table: string
  readonly groups: number[] = []
  /** Large values that were given up. */
  abandoned = 0

  constructor(database: DatabaseSync, table: string) {
    this.#database = database
    this.#table = table
    database.exec(`CREATE TABLE ${table} (word TEXT CHECK (word <> 'bad'))`)
  }

  answer(question: string): unknown {
    if (question === 'later') return Promise.resolve(this.words())
    if (question === 'throws') throw new Error('no answer')
    return this.words()
  }

  seesChanges(question: string): boolean {
    return question === 'all'
  }

  commit(words: readonly string[]): unknown[] {
    const insert = this.#database.prepare(`INSERT INTO ${this.#table} VALUES (?)`)
    for (const word of words) insert.run(word)
    this.groups.push(words.length)
    return words.map((word) => word.length)
  }

  weightOf(word: string): number {
    return word.length
  }

  receive(head: string): Receiver {
    let word = head
    return {
      write: async (piece) => {
        if (piece[0] === 0) throw new Error('the disk is full')
        word += Buffer.from(piece).toString()
      },
      finish: async () => word,
      abandon: async () => {
        this.abandoned++
      },
    }
  }

  words(): string {
    const rows = this.#database.prepare(`SELECT word FROM ${this.#table}`).all()
    return rows.map(({ word }) => word as string).join(' ')
  }
}

/** A file with two roles, and a port in which messages can wait. */
class Rig implements HostPort {
  readonly database = new DatabaseSync(':memory:')
  readonly roles = [new WordRole(this.database, 'a'), new WordRole(this.database, 'b')] as const
  readonly messages: (readonly HostAnswer[])[] = []
  readonly waiting: HostMessage[] = []
  readonly idle: (() => void)[] = []
  idleWork = 0
  opening: Promise<string> = Promise.resolve('opened')
  readonly server: HostServer

  constructor() {
    const hasIdleWork = (): boolean => this.idleWork > 0
    const file: HostedFile = {
      roles: this.roles,
      open: () => this.opening,
      close: (argument) => argument,
      toError: (error) =>
        error instanceof HeddleError
          ? error
          : new HeddleError('HDL_STORE_FAILED', {
              store: 'words',
              action: 'be used',
              cause: describe(error),
            }),
      get hasIdleWork() {
        return hasIdleWork()
      },
      workIdly: () => this.idleWork-- > 0,
    }
    this.server = new HostServer(file, this)
  }

  post(message: { answers: readonly HostAnswer[] }): void {
    this.messages.push(message.answers)
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

  /** Each in a message of its own; all have arrived before the host looks. */
  accept(...requests: HostRequest[]): (readonly HostAnswer[])[] {
    this.messages.length = 0
    for (const request of requests) this.waiting.push({ now: 0, requests: [request] })
    this.server.accept(this.waiting.shift()!)
    return [...this.messages]
  }
}

const change = (id: number, word: string, role = 0): HostRequest => ({ id, role, change: word })
const ask = (id: number, question: string, role = 0): HostRequest => ({ id, role, ask: question })
const bytes = (text: string): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.from(text))

const codes = (answers: readonly HostAnswer[] | undefined): unknown[] =>
  answers!.map((answer) => ('error' in answer ? answer.error.heddle?.code : 'ok'))

test('H1: requests that arrived together are one group, up to a weight', () => {
  const rig = new Rig()
  rig.accept(change(1, 'x'), change(2, 'y'), change(3, 'z'))
  const long = 'w'.repeat(10_000)
  rig.accept(change(4, long), change(5, long), change(6, long))
  assert.deepEqual(rig.roles[0].groups, [3, 2, 1])
})

test('H2: each role commits its part of a group once, in order, however the changes alternate', () => {
  const rig = new Rig()
  const answers = rig.accept(
    change(1, 'b1', 1),
    change(2, 'a1'),
    change(3, 'b2', 1),
    change(4, 'a2'),
    change(5, 'b3', 1),
  )
  const lengths = (...ids: number[]): HostAnswer[] => ids.map((id) => ({ id, value: 2 }))
  assert.deepEqual(answers, [lengths(2, 4), lengths(1, 3, 5)])
  assert.deepEqual([rig.roles[0].words(), rig.roles[1].words()], ['a1 a2', 'b1 b2 b3'])
  assert.deepEqual([rig.roles[0].groups, rig.roles[1].groups], [[2], [3]])
})

test('H2, H3: a role that cannot commit answers its own changes with the error, and harms no other', () => {
  const rig = new Rig()
  const answers = rig.accept(change(1, 'b1', 1), change(2, 'bad'), change(3, 'b2', 1))
  assert.deepEqual(answers.map(codes), [['HDL_STORE_FAILED'], ['ok', 'ok']])
  assert.deepEqual([rig.roles[0].words(), rig.roles[1].words()], ['', 'b1 b2'])
  assert.deepEqual(codes(rig.accept(change(4, 'good'))[0]), ['ok'])
})

test('H3: a question sees the changes before it when it asks for that, else it does not wait', async () => {
  const rig = new Rig()
  assert.deepEqual(rig.accept(change(1, 'one'), ask(2, 'now'), ask(3, 'all'), change(4, 'two')), [
    [{ id: 2, value: '' }],
    [{ id: 1, value: 3 }],
    [{ id: 3, value: 'one' }],
    [{ id: 4, value: 3 }],
  ])
  rig.accept(ask(5, 'later'))
  await turn()
  assert.deepEqual(rig.messages, [[{ id: 5, value: 'one two' }]])
  assert.deepEqual(codes(rig.accept(ask(6, 'throws'))[0]), ['HDL_STORE_FAILED'])
})

test('H4: requests that come while the file is opened wait; when it cannot be opened, they fail with that error', async () => {
  for (const isBroken of [false, true]) {
    const rig = new Rig()
    const opening = Promise.withResolvers<string>()
    rig.opening = opening.promise
    rig.server.accept({ now: 0, requests: [{ id: 1, open: true }, change(2, 'early')] })
    rig.server.accept({ now: 0, requests: [ask(3, 'all')] })
    await turn()
    assert.deepEqual(rig.messages, [])
    if (isBroken) opening.reject(new HeddleError('HDL_CLOSED', { what: 'It' }))
    else opening.resolve('opened')
    await turn()
    const answers = rig.messages.flat()
    assert.deepEqual(
      answers.map(({ id }) => id),
      [1, 2, 3],
    )
    assert.deepEqual(codes(answers), Array(3).fill(isBroken ? 'HDL_CLOSED' : 'ok'))
  }
})

test('H4: closing commits the requests before it', () => {
  const rig = new Rig()
  const answers = rig.accept(change(1, 'last'), { id: 2, close: 'bye' }).flat()
  assert.deepEqual(answers, [
    { id: 1, value: 4 },
    { id: 2, value: 'bye' },
  ])
})

test('a large value is received in steps, gives credit, and becomes a change', async () => {
  const rig = new Rig()
  rig.accept(
    { id: 1, role: 1, begin: 'he' },
    { id: 1, piece: bytes('dd') },
    { id: 1, piece: bytes('le') },
    { id: 1, end: true },
  )
  for (let i = 0; i < 5; i++) await turn()
  assert.deepEqual(rig.messages.flat(), [
    { id: 1, credit: 2 },
    { id: 1, credit: 2 },
    { id: 1, value: 6 },
  ])
  assert.equal(rig.roles[1].words(), 'heddle')
})

test('H4: a large value that fails, or is given up, is answered once and leaves nothing', async () => {
  const rig = new Rig()
  rig.accept(
    { id: 1, role: 0, begin: 'x' },
    { id: 1, piece: Uint8Array.of(0) },
    { id: 1, piece: bytes('more') },
    { id: 1, end: true },
    { id: 2, role: 0, begin: 'y' },
    { id: 2, piece: bytes('z') },
    { id: 2, abort: true },
    // Nothing was begun under this id.
    { id: 3, piece: bytes('z') },
  )
  for (let i = 0; i < 5; i++) await turn()
  const answers = rig.messages.flat().filter((answer) => !('credit' in answer))
  assert.deepEqual(new Set(answers.map(({ id }) => id)), new Set([1, 2]))
  assert.equal(answers.length, 2)
  assert.deepEqual(codes(answers.filter(({ id }) => id === 1)), ['HDL_STORE_FAILED'])
  assert.equal(rig.roles[0].abandoned, 2)
  assert.equal(rig.roles[0].words(), '')
})

test('H5: idle work waits for a pause, and for no longer than a while', () => {
  const rig = new Rig()
  rig.idleWork = 1
  rig.accept(change(1, 'x'))
  rig.idle.shift()!()
  assert.equal(rig.idleWork, 0)
  rig.idleWork = 1
  let puttingsOff = 0
  rig.accept(change(2, 'x'))
  for (; rig.idle.length > 0 && puttingsOff < 1000; puttingsOff++) {
    rig.accept(change(3, 'x'))
    rig.idle.shift()!()
  }
  assert.equal(rig.idleWork, 0)
  assert.ok(puttingsOff > 10, `${puttingsOff} times`)
})
