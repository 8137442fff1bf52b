/** A step from one version of the tables to the next. */
export interface Migration {
  /** Its purpose, for people. */
  readonly title: string
  readonly sql: string
}

/**
 * Settings of a function that writes: plans that read a whole table are chosen while it is small, and kept for the life
 * of a connection.
 */
export const byIndex =
  'SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off'
