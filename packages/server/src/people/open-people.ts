import { openStore, systemKernel } from '@heddle/core/lowlevel'
import { People } from './people.ts'
import { peopleTables } from './people-tables.ts'

export interface OpenPeople extends AsyncDisposable {
  readonly people: People
}

/**
 * Opens the people of a store: for programs that add users while a server runs, or before it does.
 *
 * *Cancellation*: none; it waits for the store.
 * @throws `HDL_BAD_OPTION`, `HDL_STORE_FAILED`.
 */
export async function openPeople(store: string): Promise<OpenPeople> {
  const opened = await openStore(store, { tables: peopleTables })
  return {
    people: new People(opened.tables, systemKernel),
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  }
}
