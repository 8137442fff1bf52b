import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'
import { LogReader, LogWriter, logWindow, type LogLines } from '../../src/threads/log-flow.ts'
import { createPool } from './fixtures/support.ts'

/** Both sides in one thread: what the writer posts is read when a test says so. */
function connect(onPost?: (posted: LogLines[]) => void) {
  const clock = new VirtualClock()
  const reader = new LogReader(clock)
  const posted: LogLines[] = []
  const writer = new LogWriter(
    reader.words,
    clock,
    (lines) => {
      posted.push(lines)
      onPost?.(posted)
    },
    1,
  )
  const read: string[] = []
  const readAll = (): void => {
    for (const lines of posted.splice(0)) {
      reader.read(lines, (ticket, fraction, text) => {
        read.push(`${ticket} ${fraction === undefined ? '' : `${fraction} `}${text}`)
      })
    }
  }
  return { clock, writer, posted, read, readAll }
}

test('G1: lines arrive in order; while the loop keeps up each is posted at once', async () => {
  const { clock, writer, posted, read, readAll } = connect()
  for (let line = 0; line < 200; line++) {
    writer.write(7, `line ${line}`)
    assert.equal(posted.length, 1)
    readAll()
    await clock.advance(0)
  }
  assert.deepEqual(
    read,
    Array.from({ length: 200 }, (_, line) => `7 line ${line}`),
  )
})

test('G1: progress keeps its place among the lines', async () => {
  const { clock, writer, read, readAll } = connect()
  for (let line = 0; line < 40; line++) writer.write(1, 'line')
  writer.report(1, 0.5, 'half')
  writer.write(1, 'after')
  await clock.advance(0)
  readAll()
  assert.deepEqual(read.slice(-3), ['1 line', '1 0.5 half', '1 after'])
})

test('G2: a loop that has not finished its turn is sent no more than the window and two batches', () => {
  const { writer, posted, readAll } = connect()
  for (let line = 0; line < 10_000; line++) writer.write(1, 'line')
  const lines = posted.flat().length / 3
  assert.ok(lines >= logWindow && lines <= logWindow + 128, `${lines} lines`)
  assert.ok(posted.length < 64, 'in batches')
  readAll()
  writer.write(1, 'read, but not said so before the next turn')
  assert.equal(posted.length, 0)
})

test('G2: long lines count more', () => {
  const { writer, posted } = connect()
  for (let line = 0; line < 1000; line++) writer.write(1, 'x'.repeat(25_600))
  assert.ok(posted.flat().length / 3 < 20)
})

test('G3: log lines that a stuck loop does not read are dropped, and a line says how many', async () => {
  const { clock, writer, posted, read, readAll } = connect()
  for (let line = 0; line < 5000; line++) writer.write(1, `line ${line}`)
  writer.write(2, 'of another job')
  readAll()
  await clock.advance(0)
  const kept = read.length
  writer.write(2, 'later')
  writer.flush()
  readAll()
  assert.equal(posted.length, 0)
  assert.deepEqual(read.slice(kept), [
    `1 ${5000 - kept} lines were dropped here: the event loop did not read them.`,
    '2 A line was dropped here: the event loop did not read them.',
    '2 later',
  ])
})

test('lines that wait for company are posted when the thread is in its event loop', async () => {
  const { clock, writer, posted } = connect()
  for (let line = 0; line < 40; line++) writer.write(1, 'line')
  assert.ok(posted.flat().length / 3 < 40)
  await clock.advance(0)
  assert.equal(posted.flat().length / 3, 40)
})

test('G1: all lines of a job that writes very many arrive before its result', async () => {
  await using made = createPool({ threads: 1 })
  const lines: string[] = []
  const count = 20_000
  await made.run('chatter', count, { onLog: (text) => void lines.push(text) })
  assert.equal(lines.length, count)
  assert.ok(lines.every((text, index) => text === `line ${index}`))
})
