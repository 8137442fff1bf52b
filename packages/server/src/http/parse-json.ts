/** From the text of a body to its value: on the loop when it is short, with the help of a thread when it is long. */
import { HeddleError } from '@heddle/core'
import type { Clock, ThreadPool, WaitOptions } from '@heddle/core/lowlevel'
import { joinJson } from './json-pieces.ts'
import { cutJob } from './parse-thread.ts'

/** What bodies are parsed with. */
export interface ParseMeans {
  /** Threads for what would hold up the loop; not those of the jobs, which may be busy for long. */
  readonly chores: ThreadPool
  readonly clock: Clock
  /** Characters of the longest text that is parsed on the loop: `limits.loopBody`. */
  readonly loopBody: number
}

/** `limits.loopBody` when absent: 64 KiB of the worst shape (an object of 7,000 keys) take 2.5 ms, see decision 0535. */
export const usualLoopBody = 64 * 1_024

/**
 * An empty text is an empty object. A promise only where a thread is needed.
 *
 * @param limits Made when they are needed. *Cancellation*: the signal and the deadline end it.
 * @throws `HDL_BAD_INPUT`; `HDL_CANCELLED`, `HDL_TIMEOUT` and `HDL_OVERLOADED` of the thread.
 */
export function parseBody(
  text: string | undefined,
  means: ParseMeans,
  limits: () => WaitOptions,
): unknown {
  if (text === undefined || text === '') return {}
  if (text.length > means.loopBody) return parseInThread(text, means, limits())
  return parseText(text, () => notAnObject())
}

async function parseInThread(
  text: string,
  { chores, clock }: ParseMeans,
  limits: WaitOptions,
): Promise<unknown> {
  const { module, name: job } = cutJob
  const task = { module: module!, job, input: text }
  const pieces = await chores.run<readonly string[] | undefined>(task, limits)
  if (pieces === undefined) throw notAnObject()
  return joinJson(pieces, clock)
}

/** @param problem Made from the message of the parser. */
export function parseText(text: string, problem: (message: string) => HeddleError): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw problem((error as SyntaxError).message)
  }
}

function notAnObject(): HeddleError {
  return new HeddleError('HDL_BAD_INPUT', { what: 'The body', problem: 'expected a JSON object.' })
}
