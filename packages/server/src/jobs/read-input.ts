/** From the text of a request to its input and its handle. */
import { HeddleError } from '@heddle/core'
import {
  validateInput,
  waitFor,
  type Clock,
  type ThreadPool,
  type WaitOptions,
} from '@heddle/core/lowlevel'
import { handleJob, type HandleQuestion } from './handle-thread.ts'
import { handleOf, type HandleOwner } from './handle.ts'
import { checkInput } from './problems.ts'
import type { ServedJob } from './served-job.ts'
import { checkSize, type Family } from './supersets.ts'

export interface ReadInput {
  readonly input: unknown
  readonly handle: string
  /** Which other inputs it answers for; undefined when the job has no such inputs. */
  readonly family?: Family | undefined
}

/** What inputs are read with. */
export interface ReadMeans {
  /** Threads for what would hold up the loop; not those of the jobs, which may be busy for long. */
  readonly chores: ThreadPool
  readonly clock: Clock
}

/** Characters; parsing and ordering so many takes about two milliseconds. */
const smallText = 64 * 1024

/**
 * *Cancellation*: the signal and the deadline end it.
 * @param tenant Whose computation it is; undefined when all tenants share it.
 * @throws `HDL_BAD_INPUT` when it is not JSON, or nested too deeply; `HDL_WRONG_INPUT` and `HDL_SCHEMA_FAILED` of the job's schema;
 * `HDL_TIMEOUT`; what the job's `superset` throws.
 */
export async function readInput(
  served: ServedJob,
  tenant: string | undefined,
  text: string | undefined,
  { chores, clock }: ReadMeans,
  limits: WaitOptions,
): Promise<ReadInput> {
  const { name, version, superset } = served
  const owner = { name, version, tenant }
  const input = text === undefined || text === '' ? null : parse(text, name)
  // Before the schema sees it: a value that is nested too deeply would exhaust its stack.
  const handle = await nameOf(owner, input, text ?? '', chores, limits)
  await checkBySchema(served, input, clock, limits)
  if (superset === undefined) return { input, handle }
  checkInput(served, input)
  const size = checkSize(name, superset.size(input))
  const same = ['superset', superset.same(input)]
  const key = await nameOf(owner, same, JSON.stringify(same), chores, limits)
  return { input, handle, family: { key, size } }
}

/**
 * The input stays as it was sent: the job gets what the schema makes of it, in every attempt.
 *
 * *Cancellation*: the signal and the deadline end the wait for a schema that takes time.
 */
async function checkBySchema(
  { name, prepare }: ServedJob,
  input: unknown,
  clock: Clock,
  limits: WaitOptions,
): Promise<void> {
  if (prepare.input === undefined) return
  const checked = validateInput(name, prepare.input, input)
  if (!(checked instanceof Promise)) return
  await waitFor(checked, `The schema for the input of "${name}"`, clock, limits)
}

/** In a thread, when it is large. */
async function nameOf(
  owner: HandleOwner,
  value: unknown,
  text: string,
  chores: ThreadPool,
  limits: WaitOptions,
): Promise<string> {
  if (text.length <= smallText) return handleOf(owner, value)
  const question: HandleQuestion = { owner, text }
  const { module, name: job } = handleJob
  return (await chores.run({ module: module!, job, input: question }, limits)) as string
}

function parse(text: string, name: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    const { message } = error as SyntaxError
    throw new HeddleError('HDL_BAD_INPUT', {
      what: `Input of "${name}" is not JSON`,
      problem: message,
    })
  }
}
