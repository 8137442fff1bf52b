import { describe, test } from 'node:test'
import type { StoreDatabase } from '../store/roles.ts'
import { storeCases } from './store-cases.ts'

/** A store that a test makes, connects to as often as it likes, and drops. It has 256 shards. */
export interface StoreUnderTest extends AsyncDisposable {
  /** Connects as another process would. The store closes what it has connected. */
  connect(): Promise<StoreDatabase>
}

export interface StoreCase {
  /** Quotes the rule: `D2: …`. */
  readonly title: string
  run(store: StoreUnderTest): Promise<void>
}

/** Registers the tests that every database under a store must pass, with `node:test`. `open` makes an empty store. */
export function storeConformance(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`store conformance: ${name}`, () => {
    for (const each of storeCases) {
      test(each.title, async () => {
        await using store = await open()
        await each.run(store)
      })
    }
  })
}
