import { describe, test } from 'node:test'
import type { AnyTable } from '../store/tables.ts'
import { openStore, type OpenStore } from '../journal/open-store.ts'
import type { StoreUnderTest } from './store-conformance.ts'

export interface RoleCase {
  /** Quotes the rule that it proves. */
  readonly title: string
  run(store: StoreUnderTest): Promise<void>
}

/** A kind of database to run the cases on. */
export interface StoreBackend {
  readonly name: string
  /** The address of a store that holds nothing. Called once for each case. */
  address(): Promise<string> | string
}

/** Registers the tests of a role with `node:test`, each on every backend. Without backends: in memory. */
export function roleConformance(
  role: string,
  tables: readonly AnyTable[],
  cases: readonly RoleCase[],
  backends: readonly StoreBackend[] = [{ name: 'memory', address: () => 'memory' }],
): void {
  for (const backend of backends) {
    describe(`role conformance: ${role}, ${backend.name}`, () => {
      for (const each of cases) {
        test(each.title, async () => {
          await using store = new StoresUnderTest(await backend.address(), tables)
          await each.run(store)
        })
      }
    })
  }
}

/** A store in memory is one object; the others are opened again and again, as by processes. */
class StoresUnderTest implements StoreUnderTest {
  readonly #address: string
  readonly #tables: readonly AnyTable[]
  readonly #opened: Promise<OpenStore>[] = []

  constructor(address: string, tables: readonly AnyTable[]) {
    this.#address = address
    this.#tables = tables
  }

  connect(tables: readonly AnyTable[] = this.#tables): Promise<OpenStore> {
    const [first] = this.#opened
    if (this.#address === 'memory' && first !== undefined) return first
    const opened = openStore(this.#address, { tables })
    this.#opened.push(opened)
    return opened
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const each of this.#opened) await (await each)[Symbol.asyncDispose]()
  }
}
