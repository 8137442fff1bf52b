import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { isError } from '../../src/errors.ts'
import { recover, RestoreRegistry } from '../../src/files/restore.ts'
import { until } from '../kernel/until.ts'
import { interceptFiles, Program } from './support.ts'
import { names, originals, Tree } from './tree.ts'

const onWindows = process.platform === 'win32' && 'Windows has no such signals'

const events = ['exit', 'SIGINT', 'SIGTERM', 'SIGHUP'] as const
const listeners = (): number[] => events.map((event) => process.listenerCount(event))
const isConflict = (error: unknown): boolean => isError(error, 'HDL_RESTORE_CONFLICT')

test('S64 a file is changed, then restored byte by byte, and no trace is left', async () => {
  using tree = new Tree()
  await using registry = await RestoreRegistry.open(tree.journal)
  const change = await registry.change(tree.file(), 'pinned')
  assert.equal(fs.readFileSync(tree.file(), 'utf8'), 'pinned')
  assert.equal(registry.stats().changed, 1)
  await change.restore()
  await change.restore()
  assert.equal(tree.identical(), 5)
  assert.deepEqual(tree.traces(), [])
  assert.deepEqual(registry.stats(), {
    folder: tree.journal,
    changed: 0,
    restored: 1,
    conflicts: 0,
    isClosed: false,
  })
})

test('S64 leaving the scope by an error restores', async () => {
  using tree = new Tree()
  const failing = async (): Promise<void> => {
    await using registry = await RestoreRegistry.open(tree.journal)
    await using change = await registry.change(tree.file(), 'pinned')
    throw new Error(`failed with ${change.path} changed`)
  }
  await assert.rejects(failing, /failed with/)
  assert.equal(tree.identical(), 5)
  assert.deepEqual(tree.traces(), [])
})

test('I1: original bytes and intent are on disk while the file is changed', async () => {
  using tree = new Tree()
  await using registry = await RestoreRegistry.open(tree.journal)
  await registry.change(tree.file('crlf.json'), 'pinned')
  const [intentName, originalName, ...others] = tree.traces()
  assert.deepEqual(others, [])
  assert.deepEqual(fs.readFileSync(tree.at(originalName!)), originals['crlf.json'])
  const intent = JSON.parse(tree.read(intentName!)) as Record<string, unknown>
  const sha = (content: string | Buffer): string =>
    createHash('sha256').update(content).digest('hex')
  assert.equal(intent['path'], fs.realpathSync(tree.file('crlf.json')))
  assert.equal(intent['original'], sha(originals['crlf.json']!))
  assert.equal(intent['changed'], sha('pinned'))
})

for (const order of [
  [0, 1],
  [1, 0],
] as const) {
  test(`S65 I6: two changes end in the order ${order.join(', ')}: each at its own end, listeners as before`, async () => {
    using tree = new Tree()
    const before = listeners()
    await using registry = await RestoreRegistry.open(tree.journal)
    assert.deepEqual(listeners(), before)
    const changes = [
      await registry.change(tree.file(names[0]), 'first'),
      await registry.change(tree.file(names[1]), 'second'),
    ]
    assert.equal(tree.identical(), 3)
    await changes[order[0]]!.restore()
    assert.equal(tree.identical(), 4)
    await changes[order[1]]!.restore()
    assert.equal(tree.identical(), 5)
    assert.deepEqual(listeners(), before)
  })
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  test(
    `seed 000 problem 5: crash-safe file restoration: ${signal} with 5 files changed restores 5 of 5`,
    { skip: onWindows },
    async () => {
      using tree = new Tree()
      await using program = new Program('changer.ts', tree.path, 'wait', '5')
      assert.equal(await program.next(), 'changed')
      assert.equal(tree.identical(), 0)
      assert.deepEqual(await program.kill(signal), { code: null, signal })
      assert.equal(tree.identical(), 5)
      assert.deepEqual(tree.traces(), [])
      assert.equal(program.stderr, '')
    },
  )
}

for (const [ending, code] of [
  ['exit', 7],
  ['throw', 1],
  ['reject', 1],
] as const) {
  test(`seed 000 problem 5: crash-safe file restoration: ${ending} with 5 files changed restores 5 of 5`, async () => {
    using tree = new Tree()
    await using program = new Program('changer.ts', tree.path, ending, '5')
    assert.equal(await program.next(), 'changed')
    program.process.send('go')
    assert.equal((await program.ended).code, code)
    assert.equal(tree.identical(), 5)
    assert.deepEqual(tree.traces(), [])
  })
}

test(
  'seed 000 problem 5: crash-safe file restoration: a program that handles Ctrl+C itself keeps its files until it ends',
  { skip: onWindows },
  async () => {
    using tree = new Tree()
    await using program = new Program('changer.ts', tree.path, 'own handler', '5')
    assert.equal(await program.next(), 'changed')
    program.process.kill('SIGINT')
    assert.equal(await program.next(), 'still changed')
    program.process.send('end')
    assert.deepEqual(await program.ended, { code: 130, signal: null })
    assert.equal(tree.identical(), 5)
    assert.deepEqual(tree.traces(), [])
  },
)

test('S67 seed 000 problem 5: crash-safe file restoration: kill -9 with 5 files changed, the next start restores 5 of 5', async () => {
  using tree = new Tree()
  await using program = new Program('changer.ts', tree.path, 'wait', '5')
  assert.equal(await program.next(), 'changed')
  await program.kill('SIGKILL')
  assert.equal(tree.identical(), 0)
  await using registry = await RestoreRegistry.open(tree.journal)
  assert.equal(tree.identical(), 5)
  assert.deepEqual(tree.traces(), [])
  const expected = names.map((name) => fs.realpathSync(tree.file(name)))
  assert.deepEqual([...registry.recovered.restored].sort(), expected)
})

test('S67 C: a second start after a kill does not take the changed file for the original', async () => {
  using tree = new Tree()
  for (let start = 0; start < 3; start++) {
    await using program = new Program('changer.ts', tree.path, 'wait', '5')
    assert.equal(await program.next(), 'changed')
    await program.kill('SIGKILL')
  }
  await recover(tree.journal)
  assert.equal(tree.identical(), 5)
  assert.deepEqual(tree.traces(), [])
})

test('S68 F: an edit before the restore is kept, and so is the original', async () => {
  using tree = new Tree()
  await using registry = await RestoreRegistry.open(tree.journal)
  const change = await registry.change(tree.file(), 'pinned')
  fs.writeFileSync(tree.file(), 'edited by a person')
  let kept = ''
  await assert.rejects(change.restore(), (error) => {
    assert.ok(isError(error, 'HDL_RESTORE_CONFLICT'))
    kept = error.details.kept
    return true
  })
  await assert.rejects(change.restore(), isConflict)
  assert.equal(fs.readFileSync(tree.file(), 'utf8'), 'edited by a person')
  assert.deepEqual(fs.readFileSync(kept), originals[names[0]!])
  assert.deepEqual(tree.traces(), [path.relative(tree.path, kept)])
  assert.equal(registry.stats().conflicts, 1)
  // It is over: the file can be changed again.
  await using again = await registry.change(tree.file(), 'pinned again')
  assert.equal(again.path, fs.realpathSync(tree.file()))
})

test('S68 F: a file that was deleted before the restore is a conflict too', async () => {
  using tree = new Tree()
  await using registry = await RestoreRegistry.open(tree.journal)
  const change = await registry.change(tree.file(), 'pinned')
  fs.rmSync(tree.file())
  await assert.rejects(change.restore(), isConflict)
  assert.equal(fs.existsSync(tree.file()), false)
})

test('S68 F: an edit before the next start is reported once, and the other files are restored', async () => {
  using tree = new Tree()
  await using program = new Program('changer.ts', tree.path, 'wait', '5')
  assert.equal(await program.next(), 'changed')
  await program.kill('SIGKILL')
  fs.writeFileSync(tree.file(names[2]), 'edited')
  fs.writeFileSync(tree.file(names[3]), 'edited too')
  await assert.rejects(RestoreRegistry.open(tree.journal), (error) => {
    assert.ok(isError(error, 'HDL_RESTORE_CONFLICT'))
    assert.equal(error.errors?.length, 2)
    assert.ok(error.errors?.every(isConflict))
    return true
  })
  assert.equal(tree.identical(), 3)
  assert.equal(fs.readFileSync(tree.file(names[2]), 'utf8'), 'edited')
  assert.equal(tree.traces().length, 2)
  await using registry = await RestoreRegistry.open(tree.journal)
  assert.deepEqual(registry.recovered, { restored: [], untouched: [] })
  assert.equal(tree.traces().length, 2, 'the kept originals are still there')
})

test(
  'S68 F: an edit before a signal is kept and reported; the other files are restored',
  { skip: onWindows },
  async () => {
    using tree = new Tree()
    await using program = new Program('changer.ts', tree.path, 'wait', '5')
    assert.equal(await program.next(), 'changed')
    fs.writeFileSync(tree.file(names[2]), 'edited')
    assert.deepEqual(await program.kill('SIGINT'), { code: null, signal: 'SIGINT' })
    assert.equal(tree.identical(), 4)
    assert.equal(fs.readFileSync(tree.file(names[2]), 'utf8'), 'edited')
    assert.match(program.stderr, /was edited while it was changed temporarily/)
    const [kept, ...others] = tree.traces()
    assert.deepEqual(others, [])
    assert.deepEqual(fs.readFileSync(tree.at(kept!)), originals[names[2]!])
    await recover(tree.journal)
  },
)

test('S70 errors are typed, and nothing is left behind', async () => {
  using tree = new Tree()
  await using registry = await RestoreRegistry.open(tree.journal)
  for (const file of [tree.at('tree/missing.json'), tree.at('tree'), tree.at('tree/x/y.json')]) {
    await assert.rejects(registry.change(file, 'pinned'), (error) =>
      isError(error, 'HDL_STORE_FAILED'),
    )
  }
  assert.equal(tree.identical(), 5)
  assert.deepEqual(tree.traces(), [])
  assert.equal(registry.stats().changed, 0)
})

test('S70 a failure of any file operation (no space) during a change leaves the file unchanged', async () => {
  using tree = new Tree()
  await using registry = await RestoreRegistry.open(tree.journal)
  const before = listeners()
  for (let at = 1; ; at++) {
    let isReached = false
    const undo = await interceptFiles((count) => {
      if (count !== at) return
      isReached = true
      throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
    })
    try {
      const change = await registry.change(tree.file(), 'pinned')
      undo()
      await change.restore()
      if (!isReached) break
    } catch (error) {
      assert.ok(isError(error, 'HDL_STORE_FAILED'), String(error))
    } finally {
      undo()
    }
    assert.equal(tree.identical(), 5, `operation ${at}`)
    assert.deepEqual(tree.traces(), [], `operation ${at}`)
    assert.equal(registry.stats().changed, 0)
    assert.deepEqual(listeners(), before)
  }
})

test('a failure of any operation on files while it restores can be tried again', async () => {
  using tree = new Tree()
  await using registry = await RestoreRegistry.open(tree.journal)
  for (let at = 1; ; at++) {
    const change = await registry.change(tree.file(), 'pinned')
    let isReached = false
    const undo = await interceptFiles((count) => {
      if (count !== at) return
      isReached = true
      throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' })
    })
    try {
      await change.restore()
    } catch (error) {
      assert.ok(isError(error, 'HDL_STORE_FAILED'), String(error))
      undo()
      await change.restore()
    } finally {
      undo()
    }
    assert.equal(tree.identical(), 5, `operation ${at}`)
    if (!isReached) break
  }
  await registry.close()
  await recover(tree.journal)
  assert.deepEqual(tree.traces(), [])
})

test('S71 I2: mode, symbolic link and bytes are kept', { skip: onWindows }, async () => {
  using tree = new Tree()
  await using registry = await RestoreRegistry.open(tree.journal)
  fs.chmodSync(tree.file('tabs.json'), 0o600)
  fs.symlinkSync('tabs.json', tree.at('tree/link.json'))
  const change = await registry.change(tree.at('tree/link.json'), 'pinned')
  assert.equal(fs.readlinkSync(tree.at('tree/link.json')), 'tabs.json')
  assert.equal(fs.readFileSync(tree.file('tabs.json'), 'utf8'), 'pinned')
  assert.equal(fs.statSync(tree.file('tabs.json')).mode & 0o7777, 0o600)
  await change.restore()
  assert.equal(fs.readlinkSync(tree.at('tree/link.json')), 'tabs.json')
  assert.equal(fs.statSync(tree.file('tabs.json')).mode & 0o7777, 0o600)
  assert.equal(tree.identical(), 5)
})

test('S71 I2: any bytes come back', async () => {
  using tree = new Tree()
  await using registry = await RestoreRegistry.open(tree.journal)
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), fc.uint8Array(), async (before, during) => {
      fs.writeFileSync(tree.file(), before)
      await using change = await registry.change(tree.file(), during)
      assert.deepEqual(new Uint8Array(fs.readFileSync(change.path)), during)
      await change.restore()
      assert.deepEqual(new Uint8Array(fs.readFileSync(tree.file())), before)
    }),
    { numRuns: 30 },
  )
})

test('I5, G: a file that is changed cannot be changed again, also by another registry or name', async () => {
  using tree = new Tree()
  await using registry = await RestoreRegistry.open(tree.journal)
  await using other = await RestoreRegistry.open(tree.at('journal-2'))
  const attempts = await Promise.allSettled([
    registry.change(tree.file(), 'one'),
    registry.change(tree.file(), 'two'),
    other.change(path.join(tree.path, 'tree/../tree', names[0]!), 'three'),
  ])
  const made = attempts.filter((attempt) => attempt.status === 'fulfilled')
  assert.equal(made.length, 1)
  for (const attempt of attempts) {
    if (attempt.status === 'rejected') assert.ok(isError(attempt.reason, 'HDL_LOCKED'))
  }
  await made[0]!.value.restore()
  assert.equal(tree.identical(), 5)
})

test('I5: a folder in use is refused, in this process and by another, and recovery does not touch it', async () => {
  using tree = new Tree()
  await using program = new Program('changer.ts', tree.path, 'wait', '5')
  assert.equal(await program.next(), 'changed')
  await assert.rejects(recover(tree.journal), (error) => isError(error, 'HDL_LOCKED'))
  await assert.rejects(RestoreRegistry.open(tree.journal), (error) => isError(error, 'HDL_LOCKED'))
  assert.equal(tree.identical(), 0)
  await program.kill('SIGKILL')
  await using registry = await RestoreRegistry.open(tree.journal)
  await assert.rejects(RestoreRegistry.open(tree.journal), (error) => isError(error, 'HDL_LOCKED'))
  assert.equal(registry.recovered.restored.length, 5)
})

test('close() restores everything, also a change under way, and refuses new changes', async () => {
  using tree = new Tree()
  const registry = await RestoreRegistry.open(tree.journal)
  await registry.change(tree.file(names[0]), 'first')
  const second = registry.change(tree.file(names[1]), 'second')
  // The reservation is made after the first check of the file: wait until it counts.
  await until(() => registry.stats().changed === 2)
  const closed = registry.close()
  await assert.rejects(registry.change(tree.file(names[2]), 'third'), (error) =>
    isError(error, 'HDL_CLOSED'),
  )
  await second
  await Promise.all([closed, registry.close()])
  assert.equal(tree.identical(), 5)
  assert.deepEqual(tree.traces(), [])
  assert.deepEqual([registry.stats().isClosed, registry.stats().changed], [true, 0])
  await using again = await RestoreRegistry.open(tree.journal)
  assert.deepEqual(again.recovered, { restored: [], untouched: [] })
})

test('a journal entry that cannot be read is reported and left alone', async () => {
  using tree = new Tree()
  tree.write('journal/a.json', '{ "version": 2 }')
  tree.write('journal/a.original', 'bytes')
  tree.write('journal/b.json', 'not JSON')
  await assert.rejects(recover(tree.journal), (error) => {
    assert.ok(isError(error, 'HDL_STORE_FAILED'))
    assert.equal(error.errors?.length, 2)
    return true
  })
  assert.deepEqual(tree.traces(), ['journal/a.json', 'journal/a.original', 'journal/b.json'])
})

test('recovering a folder that does not exist finds nothing', async () => {
  using tree = new Tree()
  assert.deepEqual(await recover(tree.at('never-used')), { restored: [], untouched: [] })
})
