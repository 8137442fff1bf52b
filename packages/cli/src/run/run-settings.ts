/** The options of `heddle run`, checked. */
import path from 'node:path'
import type { RunOptions } from '@heddle/core'

export interface RunSettings {
  readonly file: string
  /** The arguments of the function that the module exports. */
  readonly args: readonly string[]
  /** An option that was not typed is undefined: then the options of the module decide, and after them the defaults. */
  readonly title: string | undefined
  readonly concurrency: number | undefined
  readonly retries: number | undefined
  /** Milliseconds per attempt. */
  readonly timeout: number | undefined
  readonly journal: string | undefined
  /** Milliseconds for which a failed write of the journal is tried again. */
  readonly journalRetry: number | undefined
  /** Nodes to run, with everything that they depend on; all when undefined. */
  readonly only: readonly string[] | undefined
  /** The name of this piece of work. */
  readonly key: string | undefined
  /** An id, or true for the last run that has not ended. */
  readonly resume: string | true | undefined
  /** A node: a new run is made from another one, and runs from there. */
  readonly from: string | undefined
  readonly threads: number | undefined
  /** Bytes for each thread. */
  readonly threadMemory: number | undefined
  /** Whether the dashboard is served while it runs, and on which port; undefined: see dashboard.ts. */
  readonly ui: { readonly port: number | undefined } | undefined
  readonly allowChanges: boolean
  readonly json: boolean
  readonly quiet: boolean
  readonly color: boolean
  /** For `heddle runs retry`: the options that were typed; the others come from the journal. */
  readonly retried?: {
    readonly file: string | undefined
    readonly args: readonly string[]
  }
}

/** The limits of a run when neither the command line nor the module sets them: those of the engine. */
export const defaultLimits = { concurrency: 5, retries: 0, timeout: 600_000 } as const

/** The options of run() that were typed. */
export function typedOf({
  title,
  concurrency,
  retries,
  timeout,
  journal,
  key,
  from,
  threads,
  threadMemory,
}: RunSettings): Partial<
  Pick<RunOptions, 'title' | 'concurrency' | 'retries' | 'timeout' | 'key' | 'from' | 'threads'>
> & {
  readonly journal?: string
} {
  return {
    ...(title !== undefined && { title }),
    ...(concurrency !== undefined && { concurrency }),
    ...(retries !== undefined && { retries }),
    ...(timeout !== undefined && { timeout }),
    ...(journal !== undefined && { journal }),
    ...(key !== undefined && { key }),
    ...(from !== undefined && { from }),
    ...((threads ?? threadMemory) !== undefined && {
      threads: {
        ...(threads !== undefined && { count: threads }),
        ...(threadMemory !== undefined && { memory: threadMemory }),
      },
    }),
  }
}

/** The title of a run without a given one: its file, the same however it was typed. */
export function titleOf(file: string, folder: string = process.cwd()): string {
  const resolved = path.resolve(folder, file)
  const relative = path.relative(folder, resolved)
  return relative.startsWith('..') ? resolved : relative.split(path.sep).join('/')
}
