/** From the text of a request to its input and its handle. */
import { validateInput, waitFor, type WaitOptions } from '@heddle/core/lowlevel'
import { joinJson } from '../http/json-pieces.ts'
import { parseText, type ParseMeans } from '../http/parse-json.ts'
import { handleJob, inputJob, type HandleQuestion, type LargeInput } from './handle-thread.ts'
import { handleOf, type HandleOwner } from './handle.ts'
import { checkInput, notJson } from './job-errors.ts'
import type { ServedJob } from './served-job.ts'
import type { JobService } from './service.ts'
import { checkSize, type Family } from './supersets.ts'

export interface ReadInput {
  readonly input: unknown
  readonly handle: string
  /** Which other inputs it answers for; undefined when the job has no such inputs. */
  readonly family?: Family | undefined
}

/** What inputs are read with. */
export interface ReadMeans extends ParseMeans {
  /** Waits for a thread or for user code, at most until the deadline of a drain: `JobService.untilOver`. */
  readonly untilOver: JobService['untilOver']
}

/**
 * *Cancellation*: the signal and the deadline end it, and the deadline of a drain.
 * @param tenant Whose computation it is; undefined when all tenants share it.
 * @throws `HDL_BAD_INPUT` when it is not JSON, or nested too deeply; `HDL_WRONG_INPUT` and `HDL_SCHEMA_FAILED` of the
 * job's schema;
 * `HDL_TIMEOUT`; `HDL_DRAINING`; the error of the job's `superset`.
 */
export async function readInput(
  served: ServedJob,
  tenant: string | undefined,
  text: string | undefined,
  means: ReadMeans,
  limits: WaitOptions,
): Promise<ReadInput> {
  const { name, version, superset } = served
  const owner = { name, version, tenant }
  // The handle comes before the schema sees the input: a value that is nested too deeply would exhaust its stack.
  const { input, handle } =
    text !== undefined && text.length > means.loopBody
      ? await readLarge(owner, text, means, limits)
      : readSmall(owner, text)
  await checkBySchema(served, input, means, limits)
  if (superset === undefined) return { input, handle }
  checkInput(served, input)
  const size = checkSize(name, superset.size(input))
  const same = ['superset', superset.same(input)]
  const key = await nameOf(owner, same, JSON.stringify(same), means, limits)
  return { input, handle, family: { key, size } }
}

/**
 * The input stays as it was sent: the job gets the schema's output for it, in every attempt.
 *
 * *Cancellation*: the signal and the deadline end the wait for a schema that takes time.
 */
async function checkBySchema(
  { name, prepare }: ServedJob,
  input: unknown,
  { clock, untilOver }: ReadMeans,
  limits: WaitOptions,
): Promise<void> {
  if (prepare.input === undefined) return
  const checked = validateInput(name, prepare.input, input)
  if (!(checked instanceof Promise)) return
  const what = `The schema for the input of "${name}"`
  await untilOver(limits.signal, (signal) => waitFor(checked, what, clock, { ...limits, signal }))
}

function readSmall(owner: HandleOwner, text: string | undefined): ReadInput {
  const isEmpty = text === undefined || text === ''
  const input = isEmpty ? null : parseText(text, (message) => notJson(owner.name, message))
  return { input, handle: handleOf(owner, input) }
}

/** In a thread; the value comes back in pieces. *Cancellation*: the signal and the deadline. */
async function readLarge(
  owner: HandleOwner,
  text: string,
  { chores, clock, untilOver }: ReadMeans,
  limits: WaitOptions,
): Promise<ReadInput> {
  const { module, name: job } = inputJob
  const question: HandleQuestion = { owner, text }
  const task = { module: module!, job, input: question }
  const { handle, pieces } = await untilOver(limits.signal, (signal) =>
    chores.run<LargeInput>(task, { ...limits, signal }),
  )
  return { input: await joinJson(pieces, clock), handle }
}

/** In a thread, when it is large. */
async function nameOf(
  owner: HandleOwner,
  value: unknown,
  text: string,
  { chores, loopBody, untilOver }: ReadMeans,
  limits: WaitOptions,
): Promise<string> {
  if (text.length <= loopBody) return handleOf(owner, value)
  const question: HandleQuestion = { owner, text }
  const { module, name: job } = handleJob
  const task = { module: module!, job, input: question }
  return untilOver(limits.signal, (signal) => chores.run<string>(task, { ...limits, signal }))
}
