/**
 * Real processes, ended at one point after the other: ahead of the first operation on files, ahead
 * of the second, and so on until one gets through.
 *
 * By default one file is changed and every point is tried. HEDDLE_CRASH_FILES=5 changes five at
 * the same time, which gives hundreds of points and takes minutes.
 */
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { test } from 'node:test'
import { recover } from '../../src/files/restore.ts'
import { Folder, Program } from './support.ts'
import { names, Tree } from './tree.ts'

const onWindows = process.platform === 'win32' && 'Windows has no such signals'
const files = process.env['HEDDLE_CRASH_FILES'] ?? '1'

/**
 * Tries points 1, 2, 3, … until one is never reached. `tryPoint` says whether it was.
 * A signal takes effect some operations later, so that every second point is enough for those.
 */
async function everyPoint(
  tryPoint: (at: number) => Promise<boolean>,
  { sideBySide = 2, step = 1 } = {},
): Promise<void> {
  let next = 1
  let isBeyond = false
  const walk = async (): Promise<void> => {
    while (!isBeyond) {
      const at = next
      next += step
      if (!(await tryPoint(at))) isBeyond = true
    }
  }
  await Promise.all(Array.from({ length: sideBySide }, walk))
  assert.ok(next > 15, `only ${next} points were tried`)
}

function checkAll(tree: Tree, when: string): void {
  assert.equal(tree.identical(), names.length, when)
}

test('I3: killed ahead of any operation on files while it changes and restores: the next recovery restores all', async () => {
  await everyPoint(async (at) => {
    using tree = new Tree()
    await using program = new Program(
      'changer.ts',
      tree.path,
      'restore',
      files,
      'SIGKILL',
      String(at),
    )
    const { signal } = await program.ended
    await recover(tree.journal)
    checkAll(tree, `killed ahead of operation ${at}`)
    assert.deepEqual(tree.traces(), [], `killed ahead of operation ${at}`)
    return signal !== null
  })
})

test(
  'I2, I3: SIGINT before any file operation of a change or a restore: all files are restored at once',
  { skip: onWindows },
  async () => {
    await everyPoint(
      async (at) => {
        using tree = new Tree()
        await using program = new Program(
          'changer.ts',
          tree.path,
          'restore',
          files,
          'SIGINT',
          String(at),
        )
        const { signal } = await program.ended
        checkAll(tree, `interrupted ahead of operation ${at}`)
        await recover(tree.journal)
        checkAll(tree, `recovered after being interrupted ahead of operation ${at}`)
        assert.deepEqual(tree.traces(), [], `interrupted ahead of operation ${at}`)
        return signal !== null
      },
      { step: 2 },
    )
  },
)

test('S67 I3: killed ahead of any operation on files while it recovers: the next recovery restores all', async () => {
  using tree = new Tree()
  await using program = new Program('changer.ts', tree.path, 'wait', files)
  assert.equal(await program.next(), 'changed')
  await program.kill('SIGKILL')
  using saved = new Folder()
  fs.cpSync(tree.path, saved.path, { recursive: true })
  await everyPoint(
    async (at) => {
      // In the same place each time, because the journal names its files.
      fs.rmSync(tree.path, { recursive: true })
      fs.cpSync(saved.path, tree.path, { recursive: true })
      await using killed = new Program('recoverer.ts', tree.journal, String(at))
      const { signal } = await killed.ended
      await recover(tree.journal)
      checkAll(tree, `killed ahead of operation ${at}`)
      assert.deepEqual(tree.traces(), [], `killed ahead of operation ${at}`)
      return signal !== null
    },
    { sideBySide: 1 },
  )
})
