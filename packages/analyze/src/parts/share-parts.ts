/**
 * Several parts on several cores.
 *
 *   here      send a part to each helper ─▶ a part is done: send that helper the next ─▶ … ─▶ all done
 *   helper    start ─▶ analyse ─▶ tell ─▶ analyse ─▶ tell … ─▶ nobody sends any more: end
 *
 * Why processes and not threads: what runs for a few seconds on every core has no core left for the
 * last optimising compiler, which takes a quarter of the processor time of such a run and doubles with
 * two threads. It can only be switched off for a whole process. And the loop here stays free.
 *
 * I1. Every part is analysed: what a helper has been sent and has not told, because it ended, is done
 *     here.
 * I2. The results are in the order of the parts.
 * I3. No helper outlives the call, or this process.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { FromHelper, HelperOptions, ToHelper } from './protocol.ts'
import type { Part } from './parts.ts'
import type { PartResult } from './part-result.ts'
import { readAndAnalyze, type ReadContext } from './read-and-analyze.ts'

const entry = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? './helper-process.ts' : './helper-process.js',
    import.meta.url,
  ),
)

/** Characters of source that are analysed in the time a helper needs to start: less is not shared. */
const worthSharing = 2_000_000

export interface ShareOptions extends ReadContext {
  readonly start: HelperOptions
  /** Default: one helper per core, and only for what is worth it. */
  readonly helpers?: number | undefined
}

/**
 * Analyses the parts, in other processes where that is faster.
 *
 * *Cancellation*: ends the helpers. *Fairness*: the largest parts are first, so that the last are short.
 */
export async function shareParts(
  parts: readonly Part[],
  options: ShareOptions,
): Promise<readonly PartResult[]> {
  const queue = parts.toSorted((a, b) => b.size - a.size)
  const count = Math.min(options.helpers ?? helpersFor(queue), parts.length)
  const results = new Map<Part, PartResult>()
  const helpers = Array.from({ length: count }, () => new Helper(options.start))
  const { signal } = options.options
  const end = (): void => helpers.forEach((helper) => helper.end())
  signal?.addEventListener('abort', end, { once: true })
  try {
    await Promise.all(helpers.map((helper) => workOff(queue, helper, results)))
  } finally {
    signal?.removeEventListener('abort', end)
    end()
    await Promise.all(helpers.map((helper) => helper.ended))
  }
  signal?.throwIfAborted()
  const inOrder: PartResult[] = []
  for (const part of parts) inOrder.push(results.get(part) ?? (await readAndAnalyze(part, options)))
  return inOrder
}

/** Until the queue is empty, or the helper has ended. */
async function workOff(
  queue: Part[],
  helper: Helper,
  results: Map<Part, PartResult>,
): Promise<void> {
  for (let part = queue.shift(); part !== undefined; part = queue.shift()) {
    const result = await helper.analyze(part)
    if (result === undefined) return
    results.set(part, result)
  }
  helper.end()
}

/** Helpers pay when what one would do less than all of it is more than their start. */
function helpersFor([largest, ...others]: readonly Part[]): number {
  const rest = others.reduce((sum, { size }) => sum + size, 0)
  return Math.min(largest?.size ?? 0, rest) < worthSharing ? 0 : availableParallelism()
}

class Helper {
  readonly #process: ChildProcess
  readonly ended: Promise<void>
  #answer: ((result: PartResult | undefined) => void) | undefined
  #hasEnded = false

  constructor(options: HelperOptions) {
    this.#process = fork(entry, {
      execArgv: [...process.execArgv.filter(isWanted), '--no-turbofan'],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    this.#process.on('message', ({ result }: FromHelper) => this.#answer?.(result))
    this.ended = new Promise((resolve) => {
      const ended = (): void => {
        this.#hasEnded = true
        this.#answer?.(undefined)
        resolve()
      }
      this.#process.once('error', ended).once('exit', ended)
    })
    this.#send({ kind: 'start', options })
  }

  /** Undefined when it has ended. *Cancellation*: by {@link end}. */
  analyze(part: Part): Promise<PartResult | undefined> {
    return new Promise((resolve) => {
      if (this.#hasEnded) {
        resolve(undefined)
        return
      }
      this.#answer = resolve
      this.#send({ kind: 'part', part })
    })
  }

  end(): void {
    this.#process.kill('SIGKILL')
  }

  #send(message: ToHelper): void {
    // It may end at any moment: that is heard by `exit`.
    this.#process.send(message, () => {})
  }
}

/** Not those that are about this process: two inspectors cannot have one port. */
function isWanted(argument: string): boolean {
  return !/^--(?:inspect|cpu-prof|heap-prof|prof$|test)/.test(argument)
}
