import type { StatementSync } from 'node:sqlite'

/** Makes a statement give its rows as arrays. The types of Node 22 leave this method out. */
export function returnArrays(statement: StatementSync): StatementSync {
  ;(statement as StatementSync & { setReturnArrays(enabled: boolean): void }).setReturnArrays(true)
  return statement
}
