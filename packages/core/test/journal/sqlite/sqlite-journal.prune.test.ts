import assert from 'node:assert/strict'
import { readdirSync, statSync } from 'node:fs'
import { test } from 'node:test'
import { DatabaseSync } from 'node:sqlite'
import { systemKernel, type Kernel } from '../../../src/kernel/kernel.ts'
import { openJournal } from '../../../src/journal/open-journal.ts'
import { header, openRun, step } from '../../../src/testing/journal/case.ts'
import { largeOf, writeRuns } from './damage.ts'
import { newStore } from './store-folder.ts'

const valuesIn = (file: string): number => readdirSync(`${file}.values`).length

test('C12: pruning gives pages and large values back, and does not disturb another writer', async () => {
  await using store = await newStore()
  await writeRuns(store.file, 30, 3000)
  const size = statSync(store.file).size
  assert.equal(valuesIn(store.file), 30)
  // Behaves like another process: a kernel of its own, so another session.
  await using other = await openJournal(store.file, { kernel: { ...systemKernel } })
  const writer = await other.openRun(header('beside'))
  await writer.commit(step('a', 'running'))
  {
    await using journal = await store.open()
    const { runs } = await journal.prune!({ keep: 3 })
    assert.equal(runs.length, 28)
    for (let attempt = 0; attempt < 50; attempt++) {
      await writer.commit(step('a', 'running', { attempt }))
    }
    assert.deepEqual(
      (await journal.runs()).map(({ id }) => id),
      ['beside', 'r29', 'r28'],
    )
    // While another process writes, a file without a row may be about to get one.
    assert.equal(valuesIn(store.file), 30)
  }
  writer.setState('finished', 9)
  await writer[Symbol.asyncDispose]()
  await other.stop()
  assert.ok(statSync(store.file).size < size / 3, `${statSync(store.file).size} of ${size} bytes`)
  await using journal = await store.open()
  await journal.prune!({ keep: 100 })
  assert.equal(valuesIn(store.file), 2)
  assert.equal(await journal.valueOf('r29', 'b'), largeOf('r29'))
  assert.equal((await Array.fromAsync(journal.history('beside'))).length, 54)
})

test('C12: positions and numbers of runs are not used again, also after the newest runs were removed', async () => {
  await using store = await newStore()
  await writeRuns(store.file, 3, 10)
  let last = 0
  {
    await using journal = await store.open()
    for await (const { position } of journal.history('r2')) last = position
    await journal.prune!({ keep: 0 })
    assert.deepEqual(await journal.runs(), [])
  }
  await using journal = await store.open()
  await (await journal.openRun(header('next'))).commit(step('a', 'ready'))
  const [first] = await Array.fromAsync(journal.history('next'))
  assert.equal(first!.position, last + 1)
  using database = new DatabaseSync(store.file, { readOnly: true })
  assert.equal(database.prepare('SELECT run FROM run').get()!['run'], 4)
})

test('C12: leftovers of a killed process that was opening or removing a run are removed by the next prune', async () => {
  await using store = await newStore()
  await writeRuns(store.file, 2, 10)
  {
    using database = new DatabaseSync(store.file)
    database.exec("UPDATE run SET visible = 0, key = NULL, session = 77 WHERE id = 'r0'")
  }
  await using journal = await store.open()
  assert.deepEqual((await journal.prune!({ keep: 100, dryRun: true })).runs, [])
  await journal.prune!({ keep: 100 })
  using database = new DatabaseSync(store.file, { readOnly: true })
  const runs = database.prepare('SELECT DISTINCT run FROM history').all()
  assert.deepEqual(
    runs.map(({ run }) => run),
    [2],
  )
  assert.equal(valuesIn(store.file), 1)
})

/** Calls `act` at one of its pauses: counted from when it is set. */
class PausingKernel {
  /** What happens at which pause. */
  at: { pause: number; readonly act: () => Promise<void> } | undefined
  readonly kernel: Kernel = {
    ...systemKernel,
    clock: {
      now: () => systemKernel.clock.now(),
      wallTime: () => systemKernel.clock.wallTime(),
      afterIo: (callback) => systemKernel.clock.afterIo(callback),
      setTimer: (delay, callback) => {
        if (this.at === undefined || --this.at.pause > 0) {
          return systemKernel.clock.setTimer(delay, callback)
        }
        const { act } = this.at
        this.at = undefined
        void act().finally(callback)
        return { cancel: () => undefined }
      },
    },
  }
}

test('C12: a run that is resumed and ends after it was chosen is not removed, and not reported', async () => {
  for (let pause = 1; pause <= 4; pause++) {
    await using store = await newStore()
    await writeRuns(store.file, 1, 10)
    await using other = await store.open()
    {
      await using writer = await openRun(other, 'r1')
      await writer.commit(step('a', 'failed'))
      writer.setState('finished', 6)
    }
    const pausing = new PausingKernel()
    await using journal = await openJournal(store.file, { kernel: pausing.kernel })
    const resume = async (): Promise<void> => {
      await using writer = await other.resumeRun('r1', header('r1'))
      await writer.commit(step('a', 'succeeded'), 'fresh')
      writer.setState('finished', 9)
      await writer.flush()
    }
    pausing.at = { pause, act: resume }
    const { runs } = await journal.prune!({ keep: 0 })
    assert.equal(pausing.at, undefined, 'the run was resumed')
    assert.deepEqual(
      runs.map(({ id }) => id),
      ['r0'],
      `resumed at pause ${pause}`,
    )
    assert.equal(await journal.valueOf('r1', 'a'), 'fresh')
  }
})
