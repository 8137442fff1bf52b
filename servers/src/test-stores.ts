import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after } from 'node:test'
import { openDatabase, type TestDatabase } from './test-postgres.ts'

/** A kind of store to test a role on: see `roleConformance` of `@heddle/core/testing`. */
export interface TestStore {
  readonly name: string
  /** The address of a store that holds nothing. */
  address(): Promise<string>
}

let schemas = 0

/** Every kind of store, each made when it is first asked for and removed after the tests of the file. */
export function testStores(): readonly TestStore[] {
  let folder: Promise<string> | undefined
  let postgres: Promise<TestDatabase> | undefined
  let files = 0
  after(async () => {
    if (folder !== undefined) await rm(await folder, { recursive: true, force: true })
    await (await postgres)?.[Symbol.asyncDispose]()
  })
  return [
    { name: 'memory', address: async () => 'memory' },
    {
      name: 'sqlite',
      async address() {
        folder ??= mkdtemp(path.join(tmpdir(), 'heddle-store-'))
        return `sqlite:${path.join(await folder, `${++files}.db`)}`
      },
    },
    {
      name: 'postgres',
      async address() {
        postgres ??= openDatabase()
        return `${(await postgres).address}?schema=role_${++schemas}`
      },
    },
  ]
}
