/**
 * The input and the output of an analysis.
 *
 * `analyze()` reads the files once, lowers them, and hands the same program to the race rules, the
 * blocking rules and the inventory. Files that import each other are always analysed together, because
 * summaries need the callees; which findings are shown is decided afterwards, by targets and reports.
 */
import type { Finding } from './finding.ts'
import type { LineRange } from './frontend/targets/git-changes.ts'
import type { AnalysisCache } from './typed/analysis-cache.ts'
import type { Program } from './ir/program.ts'

export interface AnalyzeOptions {
  /** Absolute. Paths in findings are relative to it. */
  readonly root: string
  /** Absolute paths of the files of the program, in any order. */
  readonly files: readonly string[]
  /**
   * Files whose findings are wanted, absolute; absent is all. Unrelated files are not
   * analysed: the findings in these files are the same, only equal findings elsewhere are not there to be numbered
   * before them. It is passed over with a cache, which is for all files.
   */
  readonly wanted?: readonly string[] | undefined
  /** `auto` uses the compiler that is installed next to the code, when there is one. */
  readonly types: 'auto' | 'none'
  /** Only these (`H101`, `B102`); absent is all. */
  readonly rules?: readonly string[]
  /** Files with models of packages, beside the built-in ones. Absolute. */
  readonly models?: readonly string[]
  /** Functions and methods that run their callback alone, beside the known ones: `withTenantLock`. */
  readonly guards?: readonly string[]
  /** Text that is newer than the file on disk: an open editor, standard input. By absolute path. */
  readonly overlays?: ReadonlyMap<string, string>
  readonly signal?: AbortSignal
  /** Files that earlier runs have read and lowered, for watching: only changed files are read and lowered again. */
  readonly cache?: AnalysisCache
  /**
   * The process is for this analysis and ends with it: where several threads analyse, V8 may then be
   * set to compile less, which affects everything in the process.
   */
  readonly ownsProcess?: boolean
  /**
   * Keeps the program in the result, for the inventory and for surveys. Needs more memory; and files
   * handed out this way leave the cache, so that the next run lowers everything.
   */
  readonly keepsProgram?: boolean
}

/** Something that made the analysis less than complete. */
export interface Diagnostic {
  readonly kind:
    | 'parse-error'
    | 'unreadable'
    | 'types-lost'
    | 'too-large'
    | 'function-too-complex'
    | 'rule-failed'
  /** Relative to the root; absent when it concerns the whole program. */
  readonly file?: string
  readonly line?: number
  readonly message: string
  /** The file (or the function) was left out, so the result is incomplete: exit code 3. */
  readonly isIncomplete: boolean
}

export interface AnalysisStats {
  readonly files: number
  readonly lines: number
  readonly functions: number
  /** Which compiler answered. */
  readonly types: 'typescript-7' | 'typescript-6' | 'none'
  readonly ms: {
    readonly parse: number
    readonly lower: number
    readonly types: number
    readonly summaries: number
    readonly rules: number
    readonly total: number
  }
}

export interface Analysis {
  /** Sorted by file, line and rule. Fingerprints are assigned. */
  readonly findings: readonly Finding[]
  readonly diagnostics: readonly Diagnostic[]
  readonly stats: AnalysisStats
  /** The files that could be read, sorted by path. */
  readonly files: readonly AnalysedFile[]
  /** The lines of the function that a finding is in. */
  readonly extentOf: (finding: Finding) => LineRange | undefined
  /** With `keepsProgram`: for the inventory and for users of the call graph. */
  readonly program?: Program
}

export interface ProgramAnalysis extends Analysis {
  readonly program: Program
}

export interface AnalysedFile {
  /** The same path as in findings. */
  readonly path: string
  readonly text: string
}
