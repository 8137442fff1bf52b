import type { Diagnostic } from '../analysis.ts'
import type { UnnamedFinding } from '../baseline/fingerprint.ts'
import type { LineRange } from '../frontend/targets/git-changes.ts'
import type { Program } from '../ir/program.ts'

/** The findings of one part. Plain data, unless it keeps the program: it may come from a thread. */
export interface PartResult {
  readonly findings: readonly PartFinding[]
  readonly diagnostics: readonly Diagnostic[]
  /** The files that could be read, by their absolute paths. */
  readonly files: readonly string[]
  readonly lines: number
  readonly functions: number
  readonly ms: PhaseTimes
  readonly program?: Program
}

interface PartFinding {
  readonly finding: UnnamedFinding
  /** The lines of the function that contains the finding. */
  readonly extent: LineRange | undefined
}

interface PhaseTimes {
  readonly parse: number
  readonly lower: number
  readonly types: number
  readonly summaries: number
  readonly rules: number
}
