import path from 'node:path'
import { HeddleError } from '../errors.ts'
import { checkOptions, type OptionNames } from '../kernel/check.ts'
import { systemKernel, type Kernel } from '../kernel/kernel.ts'
import { isPostgresAddress, withoutPasswords } from '../store/postgres/address.ts'
import type { StoreDatabase } from '../store/roles.ts'
import { shardCount } from '../store/shard-of.ts'
import type { AnyTable } from '../store/tables.ts'
import { behindLink } from './open-journal.ts'

export interface OpenStoreOptions {
  /** The tables of all roles that this process has: missing ones are made. */
  readonly tables?: readonly AnyTable[]
  readonly kernel?: Kernel
}

/** A store that is open. Closing it does not hand shards over: see Shards. */
export type OpenStore = StoreDatabase & AsyncDisposable

const optionNames = { tables: 1, kernel: 1 } satisfies OptionNames<OpenStoreOptions>

/**
 * Opens a store: `memory`, `sqlite:FILE` or `postgres://host/database`. A file may also hold the journal of runs.
 *
 * *Cancellation*: none; it ends when the database does not answer in time.
 * @throws `HDL_BAD_OPTION`, `HDL_STORE_FAILED`, `HDL_JOURNAL_NEWER`, `HDL_NO_DRIVER`.
 */
export async function openStore(
  address: string,
  options: OpenStoreOptions = {},
): Promise<OpenStore> {
  checkOptions(options, optionNames)
  const { tables = [], kernel = systemKernel } = options
  if (address === 'memory') {
    const { MemoryDatabase } = await import('../store/memory/memory-database.ts')
    const { clock } = kernel
    return new MemoryDatabase(
      () => clock.now(),
      shardCount,
      tables,
      () => clock.wallTime(),
    )
  }
  if (isPostgresAddress(address)) {
    const { openPostgresDatabase } = await import('../store/postgres/postgres-database.ts')
    return openPostgresDatabase(address, { tables, kernel })
  }
  const [, file] = /^sqlite:(.+)$/.exec(address) ?? []
  if (file !== undefined) {
    const { openSqliteStore } = await import('./sqlite/sqlite-store.ts')
    return openSqliteStore(await behindLink(path.resolve(file)), tables, kernel)
  }
  throw new HeddleError('HDL_BAD_OPTION', {
    option: 'store',
    value: withoutPasswords(address),
    expected: 'memory, sqlite:FILE or postgres://HOST/DATABASE',
  })
}
