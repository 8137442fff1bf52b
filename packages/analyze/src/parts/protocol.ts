/** Between the thread that was asked for an analysis and those that help it. */
import type { AnalyzeOptions } from '../analysis.ts'
import type { Part } from './parts.ts'
import type { PartResult } from './part-result.ts'

/** What a thread needs to know to analyse any part. */
export interface HelperStart {
  readonly options: Pick<AnalyzeOptions, 'root' | 'files' | 'rules' | 'models' | 'guards'> & {
    readonly overlays: ReadonlyMap<string, string>
  }
  /** Largest first. */
  readonly parts: readonly Part[]
  /** How many parts were taken, by whomever: nobody has to ask a thread that is busy for the next. */
  readonly taken: Int32Array<SharedArrayBuffer>
}

/** One part is done. */
export interface FromHelper {
  readonly index: number
  readonly result: PartResult
}
