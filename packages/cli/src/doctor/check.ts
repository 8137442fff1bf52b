/** One checked requirement of runs. */
export interface Check {
  readonly name: string
  /** False: runs will not work as documented. */
  readonly ok: boolean
  /** What was found. */
  readonly found: string
  /** The repair, when it is not ok. */
  readonly help?: string
}
