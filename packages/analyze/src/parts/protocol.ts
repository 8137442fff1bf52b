/** Between the process that was asked for an analysis and those that do it. */
import type { AnalyzeOptions } from '../analysis.ts'
import type { Part } from './parts.ts'
import type { PartResult } from './part-result.ts'

/** What a helper needs to know to analyse any part. */
export type HelperOptions = Pick<
  AnalyzeOptions,
  'root' | 'files' | 'rules' | 'models' | 'guards' | 'overlays'
>

/** `start` comes first and once; a part is sent when the one before it is done. */
export type ToHelper =
  | { readonly kind: 'start'; readonly options: HelperOptions }
  | { readonly kind: 'part'; readonly part: Part }

export interface FromHelper {
  readonly result: PartResult
}
