import type { Due } from '../kernel/deadlines.ts'
import type { AttemptContext, GrowthHost } from './growth-host.ts'
import type { Signals } from './signals.ts'

/** State shared by the steps of all attempts of a run. */
export interface StepHost extends GrowthHost {
  readonly signals: Signals
  /** Wakes sleeps: one timer for all of them (G11). */
  wakeAt(item: Wake, milliseconds: number): void
  forgetWake(item: Wake): void
  /** While the run drains: ends the job that an attempt belongs to when nothing of it runs (G12). */
  endIdle(context: AttemptContext): void
}

/** A sleep, or the deadline of a wait. */
export interface Wake extends Due {
  onWake(): void
}
