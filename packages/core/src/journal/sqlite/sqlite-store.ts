import type { Kernel } from '../../kernel/kernel.ts'
import { SqliteDatabase } from '../../store/sqlite/sqlite-database.ts'
import type { AnyTable } from '../../store/tables.ts'
import { useWriteSide } from './write-side.ts'

/**
 * Opens the store in a file, in the thread that writes its journal, and makes its missing tables.
 *
 * *Cancellation*: none; it waits for the disk, and for a process that is opening the same file.
 */
export async function openSqliteStore(
  file: string,
  tables: readonly AnyTable[],
  kernel: Kernel,
): Promise<SqliteDatabase> {
  // A write that fails is the caller's to try again: see Committer.
  const share = await useWriteSide({ file, durability: 'fsync', kernel })
  const { side } = share
  const link = {
    change: side.changeStore.bind(side),
    ask: side.askStore.bind(side),
    close: () => share.release(),
  }
  const database = new SqliteDatabase(link, tables, kernel.clock)
  try {
    await database.declare()
    return database
  } catch (error) {
    await database[Symbol.asyncDispose]()
    throw error
  }
}
