import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { once } from 'node:events'
import { isError } from '../../src/errors.ts'
import { holdLock, type LockHolder } from '../../src/files/exclusive-lock.ts'
import { CleanupStack } from '../../src/kernel/cleanup.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'
import { mountSmall } from '../journal/sqlite/mounted.ts'
import { Folder, Program } from './support.ts'

const command = 'test run'
const isRefusal = (error: unknown): boolean => isError(error, 'HDL_LOCKED')

async function refusalOf(file: string): Promise<string> {
  try {
    await using lock = await holdLock(file, { command })
    return `not refused: ${lock.path}`
  } catch (error) {
    assert.ok(isError(error, 'HDL_LOCKED'), String(error))
    return error.details.holder
  }
}

test('S73 the second is refused naming the holder; release is idempotent and frees the lock', async () => {
  using folder = new Folder()
  const file = folder.at('release.lock')
  const kernel = {
    clock: new VirtualClock({ wallTime: Date.UTC(2026, 0, 31) }),
    random: systemRandom,
  }
  const lock = await holdLock(file, { command, kernel })
  const expected: LockHolder = {
    pid: process.pid,
    hostname: os.hostname(),
    user: os.userInfo().username,
    startedAt: '2026-01-31T00:00:00.000Z',
    command,
  }
  assert.deepEqual(lock.holder, expected)
  assert.deepEqual(JSON.parse(folder.read('release.lock.json')), expected)

  const refusal = await refusalOf(file)
  for (const part of [
    'this process',
    `pid ${process.pid}`,
    expected.hostname,
    expected.user,
    expected.startedAt,
    command,
  ]) {
    assert.ok(refusal.includes(part), `${refusal} does not name ${part}`)
  }

  await Promise.all([lock.release(), lock.release()])
  await lock.release()
  assert.deepEqual(folder.names(), ['release.lock'])
  await using again = await holdLock(file, { command })
  assert.equal(again.path, file)
})

test('S73 the lock is freed when the scope throws', async () => {
  using folder = new Folder()
  const file = folder.at('lock')
  const failing = async (): Promise<void> => {
    await using lock = await holdLock(file, { command })
    throw new Error(`failed while holding ${lock.path}`)
  }
  await assert.rejects(failing, /failed while holding/)
  await using _ = await holdLock(file, { command })
})

test('I1: of callers at the same time in one process exactly one gets it', async () => {
  using folder = new Folder()
  const tries = Array.from({ length: 20 }, () => holdLock(folder.at('lock'), { command }))
  const results = await Promise.allSettled(tries)
  const held = results.filter((result) => result.status === 'fulfilled')
  assert.equal(held.length, 1)
  for (const result of results) {
    if (result.status === 'rejected') assert.ok(isRefusal(result.reason), String(result.reason))
    else await result.value.release()
  }
})

test(
  'I1: the same file by another way (a symbolic link) is the same lock',
  { skip: process.platform === 'win32' },
  async () => {
    using folder = new Folder()
    folder.write('real/x', '')
    fs.symlinkSync('real', folder.at('linked'))
    await using _ = await holdLock(folder.at('real/lock'), { command })
    await assert.rejects(holdLock(folder.at('linked/lock'), { command }), isRefusal)
  },
)

test('I1: a thread of the same process is refused', async () => {
  using folder = new Folder()
  const file = folder.at('lock')
  await using lock = await holdLock(file, { command })
  const module = new URL('../../src/files/exclusive-lock.ts', import.meta.url).href
  const source = `
    const { parentPort } = require('node:worker_threads')
    import(${JSON.stringify(module)}).then(({ holdLock }) => holdLock(${JSON.stringify(file)}, { command: 'thread' }))
      .then(() => 'held', (error) => error.message)
      .then((text) => parentPort.postMessage(text))`
  const [answer] = (await once(new Worker(source, { eval: true }), 'message')) as [string]
  assert.match(answer, /is held by this process, pid/)
  // The thread's attempt has not freed ours.
  await using program = new Program('locker.ts', file)
  await program.next()
  assert.match(String(await program.ask('hold')), /refused.*test run/)
  assert.equal(lock.holder.command, command)
})

test('S74 a lock whose holder was killed is free, and the details are those of the new holder', async () => {
  using folder = new Folder()
  const file = folder.at('lock')
  await using program = new Program('locker.ts', file)
  await program.next()
  assert.equal(await program.ask('hold'), 'held')
  assert.match(await refusalOf(file), new RegExp(`^pid ${program.process.pid} on .*: a contest`))
  await program.kill()
  assert.equal((JSON.parse(folder.read('lock.json')) as LockHolder).pid, program.process.pid)
  await using _ = await holdLock(file, { command })
  assert.equal((JSON.parse(folder.read('lock.json')) as LockHolder).pid, process.pid)
})

test(
  'S75 a holder that is old or stopped keeps its lock',
  { skip: process.platform === 'win32' },
  async () => {
    using folder = new Folder()
    const file = folder.at('lock')
    await using program = new Program('locker.ts', file)
    await program.next()
    assert.equal(await program.ask('hold'), 'held')
    program.process.kill('SIGSTOP')
    const details = JSON.parse(folder.read('lock.json')) as LockHolder
    folder.write('lock.json', JSON.stringify({ ...details, startedAt: '2001-01-01T00:00:00.000Z' }))
    assert.match(await refusalOf(file), /since 2001-01-01/)
    program.process.kill('SIGCONT')
    assert.equal(await program.ask('release'), 'released')
    await using _ = await holdLock(file, { command })
  },
)

test('S77 a former holder that exits, or releases again, leaves the next one alone', async () => {
  using folder = new Folder()
  const file = folder.at('lock')
  await using former = new Program('locker.ts', file)
  await former.next()
  assert.equal(await former.ask('hold'), 'held')
  assert.equal(await former.ask('release'), 'released')
  await using lock = await holdLock(file, { command })
  assert.equal(await former.ask('release'), 'released')
  former.process.send('exit')
  assert.equal((await former.ended).code, 0)
  assert.deepEqual(JSON.parse(folder.read('lock.json')), lock.holder)
  await using other = new Program('locker.ts', file)
  await other.next()
  assert.match(String(await other.ask('hold')), /^refused/)
})

test('S77 details with the same pid on another host do not free or describe the lock wrongly', async () => {
  using folder = new Folder()
  const file = folder.at('lock')
  await using program = new Program('locker.ts', file)
  await program.next()
  assert.equal(await program.ask('hold'), 'held')
  const details = JSON.parse(folder.read('lock.json')) as LockHolder
  folder.write('lock.json', JSON.stringify({ ...details, hostname: 'elsewhere' }))
  assert.match(await refusalOf(file), /on elsewhere/)
})

for (const [what, content] of [
  ['empty', ''],
  ['not JSON', '{ "pid": 1'],
  ['null', 'null'],
  ['a list', '[]'],
  ['without pid', '{"hostname":"x"}'],
] as const) {
  test(`S78 with details that are ${what} the exclusion is still exact`, async () => {
    using folder = new Folder()
    const file = folder.at('lock')
    await using program = new Program('locker.ts', file)
    await program.next()
    assert.equal(await program.ask('hold'), 'held')
    folder.write('lock.json', content)
    assert.equal(await refusalOf(file), 'another process')
    await program.kill()
    await using lock = await holdLock(file, { command })
    assert.deepEqual(JSON.parse(folder.read('lock.json')), lock.holder)
  })
}

test('S78 details of a dead process are not taken for those of the holder', async () => {
  using folder = new Folder()
  const file = folder.at('lock')
  await using program = new Program('locker.ts', file)
  await program.next()
  assert.equal(await program.ask('hold'), 'held')
  const details = JSON.parse(folder.read('lock.json')) as LockHolder
  // The state of the folder between taking the lock and writing its description.
  await using dead = new Program('locker.ts', folder.at('other'))
  await dead.next()
  await dead.kill()
  folder.write('lock.json', JSON.stringify({ ...details, pid: dead.process.pid }))
  assert.equal(await refusalOf(file), 'a process that has just taken it')
})

test('S78 a lock that cannot be made is a typed error, and leaves nothing', async () => {
  using folder = new Folder()
  folder.write('file', 'no folder')
  await assert.rejects(holdLock(folder.at('file/lock'), { command }), (error) =>
    isError(error, 'HDL_STORE_FAILED'),
  )
  folder.write(
    'lock',
    'somebody wrote something else here, long enough to be read as a database header, which starts with its own words, and so this is refused',
  )
  await assert.rejects(holdLock(folder.at('lock'), { command }), (error) =>
    isError(error, 'HDL_STORE_FAILED'),
  )
  fs.mkdirSync(folder.at('other.json'))
  folder.write('other.json/in-the-way', '')
  await assert.rejects(holdLock(folder.at('other'), { command }), (error) =>
    isError(error, 'HDL_STORE_FAILED'),
  )
  fs.rmSync(folder.at('other.json'), { recursive: true })
  // The failed attempt did not keep the lock.
  await using _ = await holdLock(folder.at('other'), { command })
})

test('a command must be given', async () => {
  using folder = new Folder()
  await assert.rejects(holdLock(folder.at('lock'), { command: '' }), (error) =>
    isError(error, 'HDL_BAD_OPTION'),
  )
})

test('seed 000 problem 6: advisory lock race conditions: 6 processes contend for the lock of a killed holder', async () => {
  using folder = new Folder()
  const file = folder.at('release.lock')
  const rounds = 20
  const contenders = 6
  const start = async (): Promise<Program> => {
    const program = new Program('locker.ts', file)
    assert.equal(await program.next(), 'ready')
    return program
  }
  const programs = await Promise.all(Array.from({ length: contenders }, start))
  try {
    for (let round = 0; round < rounds; round++) {
      const answers = await Promise.all(programs.map((program) => program.ask('hold')))
      const winners = programs.filter((_, i) => answers[i] === 'held')
      assert.equal(winners.length, 1, `round ${round}: ${answers.join('; ')}`)
      // The winner is killed while it holds the lock: each round starts with a lock that was left.
      const [winner] = winners
      await winner!.kill()
      programs[programs.indexOf(winner!)] = await start()
    }
  } finally {
    await Promise.all(programs.map((program) => program.kill()))
  }
})

test('I2: six processes, a hundred contests for a left-over lock: each time exactly one holder', async (t) => {
  using folder = new Folder()
  const file = folder.at('lock')
  // Left over: the file is there, and so are the details of a holder that was killed.
  await using former = new Program('locker.ts', file)
  await former.next()
  assert.equal(await former.ask('hold'), 'held')
  await former.kill()
  await using programs = new CleanupStack()
  const contestants = Array.from({ length: 6 }, () => programs.use(new Program('locker.ts', file)))
  for (const each of contestants) await each.next()
  let contests = 0
  for (; contests < 100; contests++) {
    const answers = await Promise.all(contestants.map((each) => each.ask('hold')))
    assert.equal(answers.filter((answer) => answer === 'held').length, 1, answers.join('; '))
    await Promise.all(contestants.map((each) => each.ask('release')))
  }
  t.diagnostic(`${contests} contests, one holder each`)
})

test('I1: on a full disk the lock is held without the file that names its holder, which is a warning', async (t) => {
  const disk = mountSmall(64)
  if (typeof disk === 'string') {
    t.skip(disk)
    return
  }
  using _ = disk
  disk.fill(0)
  const file = path.join(disk.path, 'lock')
  const warned = once(process, 'warning')
  await using lock = await holdLock(file, { command })
  const [warning] = (await warned) as [Error]
  assert.match(warning.message, /^The disk is full: .*lock\.json/)
  assert.equal(fs.existsSync(`${file}.json`), false)
  assert.match(await refusalOf(file), /this process/)
  await lock.release()
  await using again = await holdLock(file, { command })
  assert.equal(again.path, file)
})
