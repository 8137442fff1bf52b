import type { DatabaseSync, StatementSync } from 'node:sqlite'

/** Statements of a database, each prepared once: preparing costs more than reading a few rows. */
export class PreparedStatements {
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  /** For statements whose text comes from a fixed set: all of them are kept. */
  get(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.#database.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }
}
