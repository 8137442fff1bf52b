import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openStore } from '../../../src/journal/open-store.ts'
import { storeConformance } from '../../../src/testing/store-conformance.ts'

storeConformance('sqlite', openSqlite)

async function openSqlite(tables: Parameters<Parameters<typeof storeConformance>[1]>[0]) {
  const folder = await mkdtemp(path.join(tmpdir(), 'heddle-store-'))
  const connected: AsyncDisposable[] = []
  return {
    async connect(declared = tables) {
      const address = `sqlite:${path.join(folder, 'store.db')}`
      const database = await openStore(address, { tables: declared })
      connected.push(database)
      return database
    },
    async [Symbol.asyncDispose]() {
      for (const database of connected) await database[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
