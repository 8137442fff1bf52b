/**
 * Several parts on several cores.
 *
 *   this thread   take ─▶ analyse ─▶ take ─▶ … ─▶ none left ─▶ wait for the helpers ─▶ all results
 *   helper          start ─▶ take ─▶ analyse ─▶ tell ─▶ take … ─▶ none left ─▶ end
 *
 * This thread works too: a helper needs half a second to load the analyzer, and by then the first part
 * is half done. The largest parts are taken first, so that the last ones are short.
 *
 * I1. Every part is analysed: what a helper has taken and not told, because it failed, is done here.
 * I2. The results are in the order of the parts.
 * I3. No helper outlives the call.
 */
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { HelperStart, FromHelper } from './protocol.ts'
import type { Part } from './parts.ts'
import type { PartResult } from './part-result.ts'
import { readAndAnalyze, takeParts, type TakeOptions } from './take-parts.ts'

const entry = new URL(
  import.meta.url.endsWith('.ts') ? './helper-thread.ts' : './helper-thread.js',
  import.meta.url,
)

/** Characters of source that this thread analyses in the time a helper needs to start: less is not shared. */
const worthSharing = 2_000_000

export interface ShareOptions extends Omit<TakeOptions, 'onResult'> {
  readonly start: HelperStart['options']
  /** Threads at most, this one included. Default: one per core, and only for what is worth it. */
  readonly threads?: number | undefined
}

/**
 * Analyses the parts, with the help of threads where that is faster.
 *
 * *Cancellation*: ends the helpers. *Fairness*: yields to the loop between files and phases.
 */
export async function shareParts(
  parts: readonly Part[],
  options: ShareOptions,
): Promise<readonly PartResult[]> {
  const queue = parts.toSorted((a, b) => b.size - a.size)
  const threads = options.threads ?? threadsFor(queue)
  const results = new Map<Part, PartResult>()
  const onResult = (index: number, result: PartResult): void => {
    results.set(queue[index]!, result)
  }
  const taken = new Int32Array(new SharedArrayBuffer(4))
  const start: HelperStart = { options: options.start, parts: queue, taken }
  const count = Math.min(threads, parts.length) - 1
  const helpers = Array.from({ length: count }, () => new Helper(start, onResult))
  try {
    await takeParts(queue, taken, { ...options, onResult })
    await Promise.all(helpers.map((helper) => helper.ended))
  } finally {
    await Promise.all(helpers.map((helper) => helper.end()))
  }
  const inOrder: PartResult[] = []
  for (const part of parts) inOrder.push(results.get(part) ?? (await readAndAnalyze(part, options)))
  return inOrder
}

/** Helpers pay when what this thread would do without them is more than their start. */
function threadsFor([largest, ...others]: readonly Part[]): number {
  const rest = others.reduce((sum, { size }) => sum + size, 0)
  return Math.min(largest?.size ?? 0, rest) < worthSharing ? 1 : availableParallelism()
}

class Helper {
  readonly #thread: Worker
  readonly ended: Promise<void>

  constructor(start: HelperStart, onResult: (index: number, result: PartResult) => void) {
    this.#thread = new Worker(entry, { workerData: start })
    this.#thread.on('message', ({ index, result }: FromHelper) => onResult(index, result))
    // Its parts are done by the thread that started it.
    this.#thread.on('error', () => {})
    this.ended = new Promise((resolve) => this.#thread.once('exit', () => resolve()))
  }

  async end(): Promise<void> {
    await this.#thread.terminate()
  }
}
