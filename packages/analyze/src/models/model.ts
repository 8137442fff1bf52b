/**
 * The model of code that is not in the program: functions of Node, of the language and of
 * packages. Models are data (`models/*.json` of this package, and files that users name in their
 * configuration), so that a package can be described without changing the analyzer.
 */

/** Where something runs. */
export const tags = [
  'LOOP',
  'CPU/LOOP',
  'THREAD:uv',
  'THREAD',
  'STREAM/THREAD',
  'PROC',
  'REMOTE',
] as const

export type Tag = (typeof tags)[number]

/** The ways in which a call holds the loop. Each kind belongs to one rule. */
export const blockingKinds = [
  'sync-io',
  'sync-process',
  'sync-crypto',
  'js-crypto',
  'sync-compression',
  'sync-database',
  'blocking-wait',
  'parse',
  'serialise',
  'hash',
  'sort',
  'concat',
  'spread',
  'template-compile',
  'render',
  'media',
  'code-load',
  'console',
] as const

export type BlockingKind = (typeof blockingKinds)[number]

export const entryKinds = [...blockingKinds, 'offload', 'source', 'bound', 'returns'] as const

/**
 * What decides how long a call holds the loop:
 * `disk` the disk · `process` the other process · `wait` the thread or process that has to act · `fixed` slow whatever
 * it is given · `per-byte` and `superlinear` the size of its input.
 */
export const costs = ['disk', 'process', 'wait', 'fixed', 'per-byte', 'superlinear'] as const

export type Cost = (typeof costs)[number]

/** The operand whose size decides: an argument, the object of the call, or the spread value. */
export type CostInput = number | 'receiver' | 'spread'

/** The calls that an entry matches. */
export interface CallPattern {
  /** `node:fs`, a package, `global` for globals, `language` for methods of built-in types. */
  readonly module: string
  /** A class, a namespace object or the type of a value. Absent: exports of the module themselves. */
  readonly type?: string
  /** A `*` stands for any letters. */
  readonly names: readonly string[]
  readonly except?: readonly string[]
}

/** Reading one of these properties gives input: `req.body`. */
export interface PropertyPattern {
  readonly property: readonly string[]
  readonly of: readonly string[]
}

/** The parameters of a listener for one of these events are input. */
export interface EventPattern {
  readonly event: readonly string[]
  /** Only of objects with these names. */
  readonly of?: readonly string[]
}

export interface BlockingEntry extends CallPattern {
  readonly kind: BlockingKind
  readonly tag: Tag
  readonly cost: Cost
  /** Only for `per-byte` and `superlinear`. */
  readonly input?: CostInput
  /** `in-loop`: harmless on its own. */
  readonly when?: 'in-loop'
  /** What to call instead. */
  readonly alternative: string
  /** What keeps its input small: shown to readers, and option names that silence it. */
  readonly boundedBy?: readonly string[]
}

export interface OffloadEntry extends CallPattern {
  readonly kind: 'offload'
  readonly tag: Tag
}

export type SourceEntry = (CallPattern | PropertyPattern | EventPattern) & {
  readonly kind: 'source'
  /** `request body`, `file`, `message`, `query result`. */
  readonly gives: string
  /** Bytes it never exceeds at a time: a value combined from several may be larger. */
  readonly limit?: number
  /** Whether it never contains line ends and other control characters. */
  readonly noControl?: boolean
  /** Strangers do not write to it: it is large by accident at most. */
  readonly trusted?: boolean
}

/** The result is small for every argument. */
export interface BoundEntry extends CallPattern {
  readonly kind: 'bound'
}

/** The result of a call has this type of the same module (or of `from`): this is how methods are recognized. */
export interface ReturnsEntry extends CallPattern {
  readonly kind: 'returns'
  readonly returns: string
  /** The module of that type, when it is another one. */
  readonly from?: string
}

export type ModelEntry = BlockingEntry | OffloadEntry | SourceEntry | BoundEntry | ReturnsEntry

export interface ModelFile {
  readonly version: 1
  readonly about: string
  readonly entries: readonly ModelEntry[]
}

export function isBlocking(entry: ModelEntry): entry is BlockingEntry {
  return (blockingKinds as readonly string[]).includes(entry.kind)
}

/** Whether its cost depends only on the size of its input. */
export function dependsOnInput(entry: BlockingEntry): boolean {
  return entry.cost === 'per-byte' || entry.cost === 'superlinear'
}
