/** From the text of a request to its input and its handle. */
import { HeddleError } from '@heddle/core'
import type { ThreadPool, WaitOptions } from '@heddle/core/lowlevel'
import { handleJob, type HandleQuestion } from './handle-thread.ts'
import { handleOf } from './handle.ts'
import type { ServedJob } from './served-job.ts'

export interface ReadInput {
  readonly input: unknown
  readonly handle: string
}

/** Characters; parsing and ordering so many takes about two milliseconds. */
const smallText = 64 * 1024

/**
 * *Cancellation*: the signal and the deadline end it.
 * @param tenant Whose computation it is; undefined when all tenants share it.
 * @param chores Threads for what would hold up the loop; not those of the jobs, which may be busy for long.
 * @throws `HDL_BAD_INPUT` when it is not JSON, or nested too deeply; `HDL_TIMEOUT`.
 */
export async function readInput(
  served: ServedJob,
  tenant: string | undefined,
  text: string | undefined,
  chores: ThreadPool,
  limits: WaitOptions,
): Promise<ReadInput> {
  const { name, version } = served
  const input = text === undefined || text === '' ? null : parse(text, name)
  if (text === undefined || text.length <= smallText)
    return { input, handle: handleOf({ name, version, tenant }, input) }
  const question: HandleQuestion = { owner: { name, version, tenant }, text }
  const { module, name: job } = handleJob
  const handle = (await chores.run({ module: module!, job, input: question }, limits)) as string
  return { input, handle }
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
