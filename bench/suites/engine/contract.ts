/** What a library has to do in each kind of row. Ours, the peers and the floor implement these. */
import type { Shape } from './shapes.ts'

/** A no-op async function that counts its calls. */
export type Task = (name: string) => Promise<void>

/** Describes the graph in the library's own terms, calls `built`, and runs it once. */
export type PlayGraph = (shape: Shape, task: Task, built: () => void) => Promise<unknown>

/** Runs the task once for every item, at most `concurrency` at a time, as its users would. */
export type PlayBounded = (
  items: readonly number[],
  task: (item: number) => Promise<void>,
) => Promise<unknown>

/** What the threads do: answer at once, or compute for a millisecond. */
export type ThreadJob = 'tiny' | 'spin'

/** Calls one of `threads` threads. Both jobs answer their input plus one. */
export type ThreadCaller = (job: ThreadJob, input: number) => Promise<number>

export interface CacheValue {
  readonly key: string
}

/** Looks into a cache that holds all keys of the row; answers synchronously. */
export type Lookup = (key: string) => CacheValue | undefined

/** Opens an empty cache that calls `load` for missing keys. */
export type OpenShared = (
  load: (key: string) => Promise<CacheValue>,
) => Promise<(key: string) => Promise<CacheValue | undefined>>

/** Keeps large values on disk. */
export interface KeepLarge {
  /** Ends when the value would survive the end of the process. */
  set(key: string, value: unknown): Promise<unknown>
  /** Reads from disk, not from memory. */
  readBack(key: string): Promise<unknown>
  close(): Promise<void>
}
