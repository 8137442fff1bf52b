/** A journal file in a folder of its own, for tests. */
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { ConformanceStore } from '../../../src/testing/journal-conformance.ts'
import type { Durability } from '../../../src/journal/journal.ts'
import { openJournal } from '../../../src/journal/open-journal.ts'

export interface TestStore extends ConformanceStore {
  readonly folder: string
  readonly file: string
}

export async function newFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'heddle-journal-'))
  return {
    path: folder,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

export async function newStore(durability: Durability = 'process'): Promise<TestStore> {
  const folder = await newFolder()
  const file = path.join(folder.path, 'runs.db')
  const change = async (sql: string): Promise<void> => {
    using database = new DatabaseSync(file, { timeout: 10_000 })
    database.exec(sql)
  }
  return {
    folder: folder.path,
    file,
    isLasting: true,
    isShared: true,
    open: (options) => {
      const retry = { for: 0, ...options?.retry }
      return openJournal(`sqlite:${file}`, { durability, ...options, retry })
    },
    breakWrites: () =>
      change(`CREATE TRIGGER broken BEFORE INSERT ON history
        BEGIN SELECT RAISE(ABORT, 'broken by a test'); END`),
    repairWrites: () => change('DROP TRIGGER broken'),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  }
}
