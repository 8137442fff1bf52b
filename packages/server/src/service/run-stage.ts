/** One stage of a served job: the job in its place, tried again as the job says. */
import { HeddleError, isError, type Job, type JobContext } from '@heddle/core'
import {
  backoff,
  Event,
  isRetryable,
  requestedDelay,
  runBlamed,
  type Kernel,
  type ThreadPool,
  type WorkContext,
} from '@heddle/core/lowlevel'
import { asError, jobFailure } from './problems.ts'

/** Milliseconds; doubled with every attempt. */
const retryBaseDelay = 1_000

export interface StageRunner {
  /**
   * Runs a job until it succeeds or may not be tried again. Settles soon after the work's signal aborts.
   *
   * @throws an error without a code, or `HDL_JOB_FAILED`: no code that a job throws is taken for one of ours.
   */
  run(job: Job, input: unknown, name: string, work: WorkContext): Promise<unknown>
}

export function stageRunner(pool: ThreadPool, kernel: Kernel, log: StageLog): StageRunner {
  async function attempt(job: Job, input: unknown, context: JobContext): Promise<unknown> {
    switch (job.place) {
      case 'loop':
        return runBlamed(`job "${context.name}"`, () => job.run(input, context))
      case 'thread': {
        const { name, attempt: number, signal, log: onLog } = context
        while (!pool.hasRoom) await pool.waitRoom({ signal })
        return pool.run(
          { module: job.module!, job: job.name, input },
          // One input that ends threads is put aside, not the job.
          { name, attempt: number, signal, onLog, key: name },
        )
      }
      case 'fleet':
        throw new HeddleError('HDL_PLACE_UNAVAILABLE', { node: context.name, place: job.place })
    }
  }

  return {
    async run(job, input, name, work) {
      const { retries = 0 } = job
      for (let number = 0; ; number++) {
        const context: JobContext = {
          name,
          attempt: number,
          signal: work.signal,
          get cancelled() {
            return work.cancelled
          },
          log: (text) => log(name, text),
          progress: () => undefined,
        }
        try {
          return await attempt(job, input, context)
        } catch (thrown) {
          // Who ended the work says why.
          if (work.cancelled) throw asError(thrown)
          if (number >= retries || !isRetryable(thrown)) throw jobFailure(thrown)
          const delay = delayOf(thrown) ?? backoff(number, retryBaseDelay, kernel.random)
          await pause(delay, work.signal, kernel)
        }
      }
    },
  }
}

function delayOf(thrown: unknown): number | undefined {
  try {
    return requestedDelay(thrown)
  } catch {
    // Reading a thrown value can throw.
    return undefined
  }
}

/** *Cancellation*: the signal ends it. */
async function pause(deadline: number, signal: AbortSignal, kernel: Kernel): Promise<void> {
  try {
    await new Event({ kernel }).wait({ signal, deadline })
  } catch (error) {
    if (!isError(error, 'HDL_TIMEOUT')) throw error
  }
}

/** What a job says about itself. */
export type StageLog = (name: string, text: string) => void
