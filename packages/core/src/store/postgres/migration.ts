/** A step from one version of the tables to the next. */
export interface Migration {
  /** What it is for, for people. */
  readonly title: string
  readonly sql: string
}
