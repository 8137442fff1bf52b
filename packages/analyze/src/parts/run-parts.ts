/**
 * All parts of a program, one after the other here or several at a time in threads.
 *
 * A thread has to load and to warm up the analyzer before it is as fast as we are, which takes seconds
 * of processor time; so there are threads only for programs that keep each of them busy much longer.
 *
 * I1. The results are in the order of the parts, wherever they were made.
 * I2. The longest parts are begun first: no long one starts when the others are about to end.
 */
import { availableParallelism } from 'node:os'
import { ThreadPool } from '@heddle/core/lowlevel'
import type { Kernel } from '@heddle/core/lowlevel'
import type { AnalyzeOptions } from '../analysis.ts'
import type { SourceTexts } from '../frontend/source-text.ts'
import type { Catalogue } from '../models/catalogue.ts'
import { loadJob, partJob, runPart } from './part-job.ts'
import type { PartTask } from './part-job.ts'
import type { PartResult } from './part-result.ts'
import type { Part } from './parts.ts'

/** Characters that a thread has to get to be worth its warming up: about 500,000 lines. */
const worthAThread = 18_000_000

/** How many threads a program of this many characters keeps busy; 0 is none. */
export function threadsFor(length: number, cores = availableParallelism()): number {
  const busy = Math.min(cores, Math.floor(length / worthAThread))
  return busy < 2 ? 0 : busy
}

/** Threads that load the analyzer at once, while their user still determines the parts. */
export function startThreads(threads: number, mostParts: number, kernel: Kernel): ThreadPool {
  const pool = new ThreadPool({ threads, maxQueue: threads + mostParts, kernel })
  for (let at = 0; at < threads; at += 1) {
    // If it cannot be loaded, the first part says so.
    pool
      .run({ module: loadJob.module!, job: loadJob.name, input: undefined })
      .catch(() => undefined)
  }
  return pool
}

/** The context shared by all parts. */
export interface PartsContext {
  readonly options: AnalyzeOptions
  readonly texts: SourceTexts
  readonly catalogue: Catalogue
  readonly kernel: Kernel
  /** Where they are analysed; here when absent. */
  readonly pool?: ThreadPool | undefined
}

/**
 * Analyses parts.
 *
 * *Cancellation*: by the signal of the options. *Fairness*: without threads, that of `runPart`; with
 * them, the loop only sends texts and takes in findings.
 */
export async function runParts(
  parts: readonly Part[],
  context: PartsContext,
): Promise<readonly PartResult[]> {
  const { options, catalogue, kernel, pool } = context
  if (pool !== undefined) return runInThreads(parts, context, pool)
  const results: PartResult[] = []
  for (const part of parts)
    results.push(await runPart(taskOf(part, context), catalogue, options.signal, kernel))
  return results
}

async function runInThreads(
  parts: readonly Part[],
  context: PartsContext,
  pool: ThreadPool,
): Promise<readonly PartResult[]> {
  const { signal } = context.options
  const lengths = new Map(parts.map((part) => [part, lengthOf(part, context.texts)]))
  const results = new Map<Part, Promise<PartResult>>()
  for (const part of parts.toSorted((a, b) => lengths.get(b)! - lengths.get(a)!)) {
    const input = taskOf(part, context)
    results.set(part, pool.run({ module: partJob.module!, job: partJob.name, input }, { signal }))
  }
  try {
    return await Promise.all(parts.map((part) => results.get(part)!))
  } catch (error) {
    // The same error as without threads.
    signal?.throwIfAborted()
    throw error
  }
}

function taskOf(part: Part, { options, texts }: PartsContext): PartTask {
  const { root, rules, guards, models } = options
  return {
    root,
    files: part,
    sources: texts.known(part),
    ...(rules !== undefined && { rules }),
    ...(guards !== undefined && { guards }),
    ...(models !== undefined && { models }),
  }
}

function lengthOf(part: Part, texts: SourceTexts): number {
  return part.reduce((sum, file) => sum + (texts.textOf(file)?.length ?? 0), 0)
}
