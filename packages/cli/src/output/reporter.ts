import type { Concurrency, Graph, Run, RunEvent } from '@heddle/core'
import type { Clock, LoopGap } from '@heddle/core/lowlevel'

/** What is known about a run before it starts. */
export interface RunPlan {
  readonly graph: Graph
  readonly title: string
  readonly concurrency: Concurrency
  readonly retries: number
  /** Milliseconds that nodes took in earlier runs, by name. */
  readonly durations: ReadonlyMap<string, number>
  /** Where the run is recorded, if anywhere. */
  readonly journal: string | undefined
  readonly clock: Clock
  /** How far the work is in its own words, beside the count of nodes: `2 of 5 packages`. */
  readonly progress?: () => string
}

/** Tells people, or programs, what happens in a run. */
export interface Reporter extends Disposable {
  /** Called with every event, from before the first node starts. */
  observe(event: RunEvent): void
  /** The run is under way. */
  started(run: Run): void
  /** A notice that is not an event of the run: the state of a cancel, a warning. */
  notice(text: string): void
  gap(gap: LoopGap): void
  /** A key that steers the view. False when it means nothing. */
  press(key: string): boolean
  /** The terminal is given back for the time in which the process is stopped, or taken again. */
  suspend(): void
  resume(): void
}
