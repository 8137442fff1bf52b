/**
 * All parts of a program, one after the other here or several at a time in threads.
 *
 * A thread has to load and to warm up the analyzer before it is as fast as we are, which takes seconds
 * of processor time; so there are threads only for programs that keep each of them busy much longer.
 *
 * I1. The results are in the order of the parts, wherever they were made.
 * I2. The largest parts are begun first: nobody starts a long one when the others are about to end.
 */
import { availableParallelism } from 'node:os'
import { ThreadPool } from '@heddle/core/lowlevel'
import type { Kernel } from '@heddle/core/lowlevel'
import type { AnalyzeOptions } from '../analysis.ts'
import type { SourceTexts } from '../frontend/source-text.ts'
import type { Catalogue } from '../models/catalogue.ts'
import { partJob, runPart } from './part-job.ts'
import type { PartTask } from './part-job.ts'
import type { PartResult } from './part-result.ts'
import type { Part } from './parts.ts'

/** Characters that a thread has to get to be worth its warming up: about 500,000 lines. */
const worthAThread = 18_000_000

/** How many threads the parts of these lengths keep busy; 0 is none. */
export function threadsFor(lengths: readonly number[], cores: number): number {
  const total = lengths.reduce((sum, length) => sum + length, 0)
  const most = Math.min(cores, lengths.length, Math.floor(total / worthAThread))
  // The longest alone may take as long as all others together; one thread is no faster than none.
  const busy = Math.min(most, Math.ceil(total / Math.max(1, ...lengths)))
  return busy < 2 ? 0 : busy
}

/** What is the same for all parts. */
export interface PartsContext {
  readonly options: AnalyzeOptions
  readonly texts: SourceTexts
  readonly catalogue: Catalogue
  readonly kernel: Kernel
}

/**
 * Analyses parts, here or in threads.
 *
 * *Cancellation*: by the signal of the options; threads are ended. *Fairness*: without threads, that of
 * `runPart`; with them, the loop only sends texts and takes in findings.
 */
export async function runParts(
  parts: readonly Part[],
  context: PartsContext,
): Promise<readonly PartResult[]> {
  const { texts, options, catalogue, kernel } = context
  const lengths = parts.map((part) => lengthOf(part, texts))
  const threads = threadsFor(lengths, availableParallelism())
  if (threads > 0) return runInThreads(parts, lengths, threads, context)
  const results: PartResult[] = []
  for (const part of parts)
    results.push(await runPart(taskOf(part, context), catalogue, options.signal, kernel))
  return results
}

/** @param lengths Of the parts, in characters. */
export async function runInThreads(
  parts: readonly Part[],
  lengths: readonly number[],
  threads: number,
  context: PartsContext,
): Promise<readonly PartResult[]> {
  const { kernel, options } = context
  const { signal } = options
  const longestFirst = [...parts.keys()].sort((a, b) => lengths[b]! - lengths[a]!)
  await using pool = new ThreadPool({ threads, maxQueue: parts.length, kernel })
  const results = new Map<number, Promise<PartResult>>()
  for (const index of longestFirst) {
    const input = taskOf(parts[index]!, context)
    const task = { module: partJob.module!, job: partJob.name, input }
    results.set(index, pool.run(task, { signal }))
  }
  try {
    return await Promise.all(parts.map((_, index) => results.get(index)!))
  } catch (error) {
    // Said as it is said without threads.
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
