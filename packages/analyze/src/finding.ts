/**
 * What the analyzer says: one finding is one structured analysis.
 *
 * Rules make findings, reports print them, baselines and suppressions recognise them again. The
 * JSON format is this type with a version in front, so fields are added, never renamed.
 */

export const findingClasses = [
  'toctou',
  'stale-reference',
  'lifetime-mismatch',
  'missing-guard',
  'atomicity-gap',
  'blocking',
  // About a comment that suppresses findings, not about the code.
  'suppression',
] as const

export type FindingClass = (typeof findingClasses)[number]

/** Ordered: a later level is worse. */
export const levels = ['note', 'warning', 'error'] as const

export type Level = (typeof levels)[number]

/** A piece of source text. Lines and columns start at 1, as editors count. */
export interface SourceSpan {
  /** Relative to the root of the analysis, with `/`. */
  readonly file: string
  readonly line: number
  readonly column: number
  readonly endLine: number
  readonly endColumn: number
}

/** An access to a shared location. */
export interface SharedAccess {
  readonly function: string
  readonly kind: 'read' | 'write'
  readonly span: SourceSpan
}

/** A row of the shared-state table. */
export interface SharedState {
  /** The name that people use: `Client.#session`, `cache[key]`, `file config.json`. */
  readonly name: string
  readonly scope: 'module' | 'instance' | 'closure' | 'entry' | 'external'
  readonly writers: readonly SharedAccess[]
  readonly readers: readonly SharedAccess[]
  /** The guard here; absent is printed as UNGUARDED. */
  readonly guard?: string
}

/** Where a task lets others run. */
export interface Checkpoint {
  readonly span: SourceSpan
  readonly kind: 'await' | 'for-await' | 'yield' | 'continuation' | 'dispose' | 'call'
  /** What may have changed when the task continues. */
  readonly note: string
}

/** One step of the interleaving that goes wrong. Steps are numbered from 1 by their position. */
export interface TraceStep {
  /** `A`, `B`, … the first one is the task that the finding is about. */
  readonly task: string
  readonly text: string
  readonly span: SourceSpan
  readonly isCheckpoint?: boolean
}

export interface Fix {
  readonly title: string
  /** Code, as short as it can be said. */
  readonly sketch: string
  /** The steps of the trace that can no longer interleave. */
  readonly closes: readonly [first: number, last: number]
  readonly tradeoffs: string
  readonly risk: 'low' | 'medium' | 'high'
  readonly effort: 'simple' | 'moderate' | 'complex'
}

/** The order that an explorer has to force to make it happen. */
export interface ScheduleConstraint {
  /** Task A is held here … */
  readonly hold: SourceSpan
  /** … until task B has passed this. */
  readonly until: SourceSpan
}

export interface Finding {
  /**
   * Hash of rule, function, location and normalised text, without line numbers. Assigned after the
   * rules.
   */
  readonly fingerprint: string
  /** `H101`, `B102`. */
  readonly rule: string
  readonly class: FindingClass
  readonly level: Level
  /** One sentence with the names of the code. */
  readonly message: string
  readonly file: string
  /** Qualified: `Client.connect`, `start.<callback>`. */
  readonly function: string
  /** Where an editor shows it: the first of check and act that is in the named function. */
  readonly line: number
  /** Line numbers of the two accesses. Both are in `file`, unless the act's span says otherwise. */
  readonly check: number
  readonly act: number
  readonly checkSpan: SourceSpan
  readonly actSpan: SourceSpan
  /** The suspension between them, where there is one. */
  readonly suspension?: SourceSpan
  /** What the other task does. */
  readonly conflict?: SourceSpan
  /** The same code in another build of the source, which is reported in its place. */
  readonly builtFrom?: SourceSpan
  readonly shared: readonly SharedState[]
  readonly checkpoints: readonly Checkpoint[]
  readonly trace: readonly TraceStep[]
  /** The race window, as steps of the trace. */
  readonly window?: readonly [first: number, last: number]
  /** Why these tasks can overlap, or why the code is reached on a request path. */
  readonly evidence: readonly string[]
  /** The repairs, at least two. */
  readonly fixes: readonly Fix[]
  readonly schedule?: ScheduleConstraint
  /** Stable key of the location or of the call, for the fingerprint. */
  readonly key: string
}
