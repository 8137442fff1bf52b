import { MemoryDatabase } from '../../../src/store/memory/memory-database.ts'
import { shardCount } from '../../../src/store/shard-of.ts'
import { storeConformance } from '../../../src/testing/store-conformance.ts'

storeConformance(
  'memory',
  async (tables) => {
    const database = new MemoryDatabase(() => performance.now(), shardCount, tables)
    return { connect: async () => database, async [Symbol.asyncDispose]() {} }
  },
  { isOneProcess: true },
)
