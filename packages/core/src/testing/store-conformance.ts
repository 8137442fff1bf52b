import { describe, test } from 'node:test'
import type { StoreDatabase } from '../store/roles.ts'
import type { AnyTable } from '../store/tables.ts'
import { storeCases } from './store-cases.ts'
import { caseTables, tableCases } from './table-cases.ts'

/** A store that a test makes, connects to as often as it likes, and drops. It has 256 shards. */
export interface StoreUnderTest extends AsyncDisposable {
  /**
   * Connects as another process would, with these tables, or with those of the first connection. The store closes its
   * connections.
   */
  connect(tables?: readonly AnyTable[]): Promise<StoreDatabase>
}

export interface StoreCase {
  /** Quotes the rule: `D2: …`. */
  readonly title: string
  run(store: StoreUnderTest): Promise<void>
  /** Two versions of the code at a time: not where all connections are one object. */
  readonly needsLaterVersion?: boolean
}

export interface StoreConformanceOptions {
  /** Whether every process has the same version, as where the store is in memory. */
  readonly isOneProcess?: boolean
}

/**
 * Registers the tests that every database under a store must pass, with `node:test`. `open` makes an empty store; its
 * connections have the given tables unless they name others.
 */
export function storeConformance(
  name: string,
  open: (tables: readonly AnyTable[]) => Promise<StoreUnderTest>,
  { isOneProcess = false }: StoreConformanceOptions = {},
): void {
  describe(`store conformance: ${name}`, () => {
    for (const each of [...storeCases, ...tableCases]) {
      if (isOneProcess && each.needsLaterVersion === true) continue
      test(each.title, async () => {
        await using store = await open(caseTables)
        await each.run(store)
      })
    }
  })
}
