/**
 * The vocabulary of the bench: a suite has rows, a row has entrants, an entrant is measured in
 * children, a child plays rounds.
 */

/**
 * The timed part: everything a user's program would do, from the first call of the library. It
 * resolves when all operations have ended. A round that first describes its work calls `built`
 * when the description is complete; the time until then is in the result and told as `buildMs`.
 */
export type Round = (built: () => void) => Promise<void>

/** One library doing one row's work. It lives in a child process of its own. */
export interface Contender {
  /** Prepares what is no work of the library's: input data, threads that are up. Not timed. */
  prepare(size: number): Round | Promise<Round>
}

/**
 * - `ours`: the figure in the row's `ours`, as a user would run it;
 * - `variant`: ours set up differently, for comparison, never in the ratio;
 * - `peer`: another library;
 * - `floor`: the cheapest code that could do the work, without any feature.
 */
export type Role = 'ours' | 'variant' | 'peer' | 'floor'

export interface Entrant {
  readonly role: Role
  /** Imports lazily, so that a child's memory holds one library only. */
  readonly load: () => Promise<Contender>
  /** Smaller than the row's size where the row's size is out of the library's reach. */
  readonly size?: number
  /** Fewer than the row's where one round takes long. */
  readonly children?: number
  readonly rounds?: number
  readonly warmUpSize?: number
  /** Printed with the row. */
  readonly note?: string
}

export interface Row {
  readonly name: string
  /** `rate`: operations per second, more is better. `latency`: microseconds, less is better. */
  readonly measure: 'rate' | 'latency'
  readonly unit: string
  readonly size: number
  readonly quickSize: number
  /** Rounds of `warmUpSize` before anything is timed. */
  readonly warmUps: number
  readonly warmUpSize: number
  readonly rounds: number
  readonly children: number
  readonly entrants: Readonly<Record<string, Entrant>>
  /** Printed with the row. */
  readonly note?: string
}

export interface Suite {
  readonly name: string
  readonly summary: string
  readonly rows: readonly Row[]
}

/** What one child found out. Times are in milliseconds. */
export interface ChildReport {
  readonly values: readonly number[]
  readonly gaps: readonly number[]
  readonly builds: readonly number[]
  readonly rssMb: number
}

/** One element of the array that `--json` prints. */
export interface RowResult {
  readonly name: string
  /** null when ours failed; `error` then says why. */
  readonly ours: number | null
  readonly unit: string
  /** null for a peer that failed or did not end in time; `notes` then says why. */
  readonly peers: Readonly<Record<string, number | null>>
  /** Ours against the best peer; above 1 ours is better, for rates and latencies alike. */
  readonly ratio: number | null
  readonly floor?: number
  /** Ours against the floor, oriented like `ratio`. */
  readonly floorRatio?: number
  /** Median over rounds of the longest gap of the loop during the round. */
  readonly loopGapMs: number | null
  /** The longest gap of all rounds. */
  readonly loopGapWorstMs: number | null
  /** Median over children of the peak resident memory. */
  readonly rssMb: number | null
  /** The part of the time in which the work was described; absent where there is no such part. */
  readonly buildMs?: number
  readonly size: number
  readonly better: 'more' | 'less'
  readonly variants: Readonly<Record<string, number | null>>
  readonly peerLoopGapMs: Readonly<Record<string, number | null>>
  readonly peerRssMb: Readonly<Record<string, number | null>>
  readonly peerBuildMs: Readonly<Record<string, number>>
  readonly notes: readonly string[]
}
