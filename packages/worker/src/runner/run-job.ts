import { Graph, isError, run, type Job } from '@heddle/core'
import type { ArtifactStore } from '@heddle/core/lowlevel'

export interface JobHooks {
  /** Where the job writes its artifacts. */
  readonly artifacts: Pick<ArtifactStore, 'put'>
  readonly onLog: (text: string) => void
  readonly onProgress: (fraction: number, text?: string) => void
}

/**
 * Runs one attempt of a job on this machine, with the attempt runner that graphs and servers use. Jobs of a module run in
 * a thread, so that the loop of the worker stays free; others run on the loop.
 *
 * *Cancellation*: the signal aborts the attempt.
 * @throws what the job throws.
 */
export async function runJob(
  job: Job,
  name: string,
  input: unknown,
  signal: AbortSignal,
  { artifacts, onLog, onProgress }: JobHooks,
): Promise<unknown> {
  const place = job.module === undefined ? 'loop' : 'thread'
  const graph = new Graph()
  // The server counts attempts and their time; here there is one.
  const node = graph.add(
    name,
    { ...job, place, retries: 0, timeout: Infinity },
    { input: () => input },
  )
  const result = await run(graph, {
    signal,
    artifacts: { store: artifacts },
    observer: (event) => {
      if (event.type === 'log') onLog(event.text)
      else if (event.type === 'progress') onProgress(event.fraction, event.text)
    },
  })
  const failed = result.failed.get(name)
  if (failed !== undefined) throw failed as Error
  signal.throwIfAborted()
  return result.of(node)
}

/** Whether another attempt may succeed, as the job says. */
export function isFinalError(error: unknown): boolean {
  if (isError(error, 'HDL_UNRESPONSIVE')) return true
  return (
    typeof error === 'object' && error !== null && 'retryable' in error && error.retryable === false
  )
}
