import assert from 'node:assert/strict'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import type { Analysis } from '../../src/analysis.ts'
import { discover } from '../../src/frontend/discover.ts'
import { watchAnalysis } from '../../src/watch/watch-analysis.ts'
import { tempFolder, writeFiles, type Files } from '../support/temp-folder.ts'

interface Watched {
  readonly root: string
  /** The next analysis, or the error that came instead. */
  readonly next: () => Promise<unknown>
  readonly stop: () => Promise<void>
}

function watching(t: TestContext, files: Files): Watched {
  const root = tempFolder(t, files)
  const told: unknown[] = []
  let wake = (): void => {}
  const tell = (what: unknown): void => {
    told.push(what)
    wake()
  }
  const ending = new AbortController()
  const ended = watchAnalysis({
    root,
    select: async () => ({ root, files: discover(['.'], { root }).files, types: 'none' }),
    onAnalysis: tell,
    onError: tell,
    signal: ending.signal,
  })
  const stop = async (): Promise<void> => {
    ending.abort()
    await ended
  }
  t.after(stop)
  const next = async (): Promise<unknown> => {
    while (told.length === 0) {
      const { promise, resolve } = Promise.withResolvers<void>()
      wake = resolve
      await promise
    }
    return told.shift()
  }
  return { root, next, stop }
}

function namesOf(analysis: unknown): readonly string[] {
  const { files } = analysis as Analysis
  return files.map((file) => path.basename(file.path))
}

test('a save, a new file in a new folder and a deletion are analysed', async (t) => {
  const { root, next } = watching(t, { 'a.ts': 'export const a = 1' })
  const first = (await next()) as Analysis
  assert.deepEqual(namesOf(first), ['a.ts'])
  writeFiles(root, { 'a.ts': 'export const a = 2' })
  const second = (await next()) as Analysis
  assert.equal(second.files[0]?.text, 'export const a = 2')
  writeFiles(root, { 'deep/er/b.ts': '' })
  let names: readonly string[] = []
  while (!names.includes('b.ts')) names = namesOf(await next())
  assert.deepEqual(names, ['a.ts', 'b.ts'])
})

test('I3: a run that fails is reported, and the next change is analysed', async (t) => {
  const root = tempFolder(t, { 'a.ts': '' })
  const ending = new AbortController()
  t.after(() => ending.abort())
  const told: string[] = []
  await watchAnalysis({
    root,
    select: async () => {
      if (told.length === 0) throw new Error('nothing to analyse')
      return { root, files: [path.join(root, 'a.ts')], types: 'none' }
    },
    onAnalysis: () => {
      told.push('analysed')
      ending.abort()
    },
    onError: (error) => {
      told.push((error as Error).message)
      writeFiles(root, { 'a.ts': 'let a' })
    },
    signal: ending.signal,
  })
  assert.deepEqual(told, ['nothing to analyse', 'analysed'])
})

test('I1: a change during an analysis starts another one', async (t) => {
  const root = tempFolder(t, { 'a.ts': 'let a' })
  const file = path.join(root, 'a.ts')
  const ending = new AbortController()
  t.after(() => ending.abort())
  const texts: (string | undefined)[] = []
  await watchAnalysis({
    root,
    select: async () => ({ root, files: [file], types: 'none' }),
    onAnalysis: (analysis) => {
      texts.push(analysis.files[0]?.text)
      // Written while the run is not over yet: the watch waits for this callback.
      if (texts.length === 1) writeFiles(root, { 'a.ts': 'let b' })
      else ending.abort()
    },
    onError: assert.fail,
    signal: ending.signal,
  })
  assert.deepEqual(texts, ['let a', 'let b'])
})
