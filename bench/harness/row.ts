/**
 * The vocabulary of the bench: a suite has rows, a row has entrants, an entrant is measured in
 * children, a child plays rounds.
 */
import type { Gaps } from './gap-meter.ts'
import type { MachineLoad } from './machine-lock.ts'

/**
 * The timed part: everything a user's program would do, from the first call of the library. It
 * resolves when all operations have ended. A round that first describes its work calls `built`
 * when the description is complete; the time until then is in the result as `buildMs`.
 */
export type Round = (built: () => void) => Promise<void | (() => Figures)>

/**
 * Figures that a round measured itself, where size divided by time is not the figure. Computed after
 * the round: the loop is no longer watched.
 */
export interface Figures {
  /** Value in the unit of the row. */
  readonly value: number
  /** The figures that the row lists in `also`, by name. */
  readonly also: Readonly<Record<string, number>>
  /** An observation, where it says more than the figure. */
  readonly observed?: Observation
}

/** Observations, for people and programs: texts longer than a few words are printed below the table. */
export interface Observation {
  readonly [name: string]: Observed
}

export type Observed = string | number | boolean | null | readonly string[] | Observation

/** One library doing one row's work. It lives in a child process of its own. */
export interface Contender {
  /** Prepares what the library does not do itself: input data, started threads. Not timed. */
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
  /** The requirements besides Node: see {@link Surroundings}. */
  readonly needs?: readonly string[]
  /** Printed with the row. */
  readonly note?: string
}

/** `rate`: operations per second, more is better. `latency`: microseconds, less is better. */
export type Measure = 'rate' | 'latency'

/** A figure that comes from the same rounds as the row's own. In the results it is a row of its own. */
export interface ExtraFigure {
  /** The round's own name; the row's name goes before it. */
  readonly name: string
  readonly measure: Measure
  readonly unit: string
}

export interface Row {
  readonly name: string
  readonly measure: Measure
  readonly unit: string
  /** Operations in a round; in rows that play for a time it is that time in milliseconds. */
  readonly size: number
  readonly quickSize: number
  /** Rounds of `warmUpSize` before anything is timed. */
  readonly warmUps: number
  readonly warmUpSize: number
  readonly rounds: number
  readonly children: number
  readonly entrants: Readonly<Record<string, Entrant>>
  readonly also?: readonly ExtraFigure[]
  /** Milliseconds after which a child is ended. Default two minutes. */
  readonly limitMs?: number
  /** Other programs do the work: loop and memory of the child, which only watches, say nothing. */
  readonly isOutside?: boolean
  /** Printed with the row. */
  readonly note?: string
}

export interface Suite {
  readonly name: string
  readonly summary: string
  readonly rows: readonly Row[]
  /** Makes the surroundings of entrants, as far as possible. Called once, with the requirements of the played rows. */
  readonly surround?: (
    needs: ReadonlySet<string>,
    options: SurroundOptions,
  ) => Promise<Surroundings>
}

export interface SurroundOptions {
  /** May install packages on the machine. */
  readonly install: boolean
  /** Must not fetch anything. */
  readonly offline: boolean
  readonly onProgress: (line: string) => void
}

/** The surroundings of the children while a suite is played: servers, installed packages, a folder. */
export interface Surroundings extends AsyncDisposable {
  /** Added to the environment of the children. */
  readonly environment: Readonly<Record<string, string>>
  /** Missing requirements, with the reasons. An entrant that needs one is not played. */
  readonly missing: ReadonlyMap<string, string>
  /** Printed with every row. */
  readonly notes: readonly string[]
}

/** The report of one child. Times are in milliseconds. */
export interface ChildReport {
  readonly values: readonly number[]
  /** Keyed by name. */
  readonly also: Readonly<Record<string, readonly number[]>>
  /** Empty, as `rssMb` is absent, where other programs do the work. */
  readonly gaps: readonly Gaps[]
  readonly builds: readonly number[]
  readonly rssMb?: number
  /** The observation of the last round. */
  readonly observed?: Observation
}

/** How busy the machine was before the first row and after the last one. */
export interface Machine {
  readonly atStart: MachineLoad
  readonly atEnd: MachineLoad
}

/** One element of the array that `--json` prints. */
export interface RowResult extends MeasuredRow {
  readonly machine: Machine
}

export interface MeasuredRow {
  readonly name: string
  /** null when ours failed; `error` then says why. */
  readonly ours: number | null
  readonly unit: string
  /** null for a peer that failed, was not there or did not end in time; `notes` then says why. */
  readonly peers: Readonly<Record<string, number | null>>
  /** Heddle against the best peer; above 1 Heddle is better, for rates and latencies alike. */
  readonly ratio: number | null
  readonly floor?: number
  /** Heddle against the floor, oriented like `ratio`. */
  readonly floorRatio?: number
  /** Median over rounds of the longest gap of the floor's loop: the machine's own effect on a loop. */
  readonly floorLoopGapMs?: number
  /** Median over rounds of the collector's share of it. */
  readonly floorCollectorMs?: number
  /** Median over rounds of the longest gap of the loop during the round. */
  readonly loopGapMs: number | null
  /** The longest gap of all rounds. */
  readonly loopGapWorstMs: number | null
  /** Median and worst over rounds of the longest gap when the collector's pauses are taken off each gap. */
  readonly loopGapOwnMs: number | null
  readonly loopGapOwnWorstMs: number | null
  /** Median over rounds of the collector's share of the longest gap. */
  readonly collectorMs: number | null
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
  /** Keyed by entrant; absent where the figures are enough. */
  readonly observed?: Readonly<Record<string, Observation>>
  readonly notes: readonly string[]
}
