import assert from 'node:assert/strict'
import { mkdirSync, rmSync, utimesSync } from 'node:fs'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { seededRandom } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { FolderWatch, type FolderWatchOptions } from '../../src/watch/folder-watch.ts'
import { tempFolder, writeFiles } from '../support/temp-folder.ts'

interface Watching {
  readonly folders: FolderWatch
  readonly seen: Set<string>
  /** Resolves when a path has been reported. */
  readonly until: (path: string) => Promise<void>
}

function watching(t: TestContext, options: Partial<FolderWatchOptions> = {}): Watching {
  const seen = new Set<string>()
  let wake = (): void => {}
  const onChange = (changed: string): void => {
    seen.add(changed)
    wake()
  }
  const folders = new FolderWatch({ ...options, onChange })
  t.after(() => folders.close())
  const until = async (wanted: string): Promise<void> => {
    while (!seen.has(wanted)) {
      const { promise, resolve } = Promise.withResolvers<void>()
      wake = resolve
      await promise
    }
  }
  return { folders, seen, until }
}

test('saves, new files, new folders and settings are reported; other files are not', async (t) => {
  const root = tempFolder(t, { 'a.ts': '' })
  const { folders, seen, until } = watching(t)
  folders.watch([root], [])
  writeFiles(root, { 'a.ts': 'let a' })
  await until(path.join(root, 'a.ts'))
  writeFiles(root, { 'notes.md': '', 'types.d.ts': '', 'tsconfig.json': '{}' })
  await until(path.join(root, 'tsconfig.json'))
  mkdirSync(path.join(root, 'folder'))
  await until(path.join(root, 'folder'))
  assert.ok(!seen.has(path.join(root, 'notes.md')))
  assert.ok(!seen.has(path.join(root, 'types.d.ts')))
})

test('folders that are no longer wanted are no longer watched', async (t) => {
  const root = tempFolder(t, { 'a/x.ts': '', 'b/x.ts': '' })
  const { folders, seen, until } = watching(t)
  folders.watch([path.join(root, 'a'), path.join(root, 'b')], [])
  folders.watch([path.join(root, 'b')], [])
  writeFiles(root, { 'a/x.ts': '1', 'b/x.ts': '1' })
  await until(path.join(root, 'b/x.ts'))
  assert.ok(!seen.has(path.join(root, 'a/x.ts')))
})

test('where nothing can be watched, folders and their files are polled', async (t) => {
  const root = tempFolder(t, { 'a.ts': '' })
  const clock = new VirtualClock()
  const kernel = { clock, random: seededRandom(1) }
  const watchFolder = (): never => {
    throw new Error('ENOSPC: no more watches')
  }
  const { folders, seen } = watching(t, { kernel, watchFolder, interval: 1_000 })
  folders.watch([root], [path.join(root, 'a.ts')])
  await clock.advance(1_000)
  assert.equal(seen.size, 0)
  utimesSync(path.join(root, 'a.ts'), 7, 7)
  await clock.advance(1_000)
  assert.deepEqual([...seen], [root])
  seen.clear()
  rmSync(root, { recursive: true })
  await clock.advance(1_000)
  assert.deepEqual([...seen], [root])
})
