import { Graph, isError, run, type Job, type Place, type PlaceContext } from '@heddle/core'
import {
  attemptDefaults,
  isRetryable,
  loopPlace,
  sharedThreadPlace,
  type ArtifactStore,
} from '@heddle/core/lowlevel'
import { localPlaceOf } from './lease-room.ts'

/** Which attempt of which piece of work it is, as the server counts. */
export interface AttemptIdentity {
  readonly name: string
  readonly attempt: number
  /** `ctx.idempotencyKey`. One is made when absent. */
  readonly key?: string | undefined
  /** Milliseconds that a thread has to end once it was asked to. */
  readonly grace?: number | undefined
}

export interface JobHooks {
  /** Where the job writes its artifacts. */
  readonly artifacts: Pick<ArtifactStore, 'put'>
  readonly onLog: (text: string) => void
  readonly onProgress: (fraction: number, text?: string) => void
}

/**
 * The server counts the attempts and their time, and has taken their permits: here there is one, for as long as it
 * takes.
 */
const noLimit = 2 ** 31 - 1

/**
 * Runs one attempt of a job on this machine, with the attempt runner that graphs and servers use. Where it
 * runs is localPlaceOf().
 *
 * *Cancellation*: the signal aborts the attempt; this settles when the job has ended.
 * @throws the error of the job.
 */
export async function runJob(
  job: Job,
  identity: AttemptIdentity,
  input: unknown,
  signal: AbortSignal,
  { artifacts, onLog, onProgress }: JobHooks,
): Promise<unknown> {
  // The server has checked the input with its schema.
  const { needs: _needs, input: _schema, priority: _priority, ...own } = job
  const place = localPlaceOf(job)
  const graph = new Graph()
  const { name } = identity
  const node = graph.add(
    name,
    { ...own, place, retries: 0, timeout: Infinity },
    { input: () => input },
  )
  const result = await run(graph, {
    signal,
    abortGrace: noLimit,
    places: { [place]: as(identity, place === 'loop' ? loopPlace : sharedThreadPlace()) },
    artifacts: { store: artifacts },
    observer: (event) => {
      if (event.type === 'log') onLog(event.text)
      else if (event.type === 'progress') onProgress(event.fraction, event.text)
    },
  })
  const failed = result.failed.get(name)
  if (result.failed.has(name)) throw failed as Error
  signal.throwIfAborted()
  return result.of(node)
}

/** A place whose jobs see the attempt as the server counts it. */
function as(identity: AttemptIdentity, place: Place): Place {
  return {
    ...(place.permitsOf === undefined ? {} : { permitsOf: (job) => place.permitsOf!(job) }),
    run: (job, input, context) => place.run(job, input, identified(identity, context)),
  }
}

/** The context of the local attempt, with the number and the key of the server's. */
function identified(
  { attempt, key, grace = attemptDefaults.abortGrace }: AttemptIdentity,
  context: PlaceContext,
): PlaceContext {
  return {
    name: context.name,
    attempt,
    get signal() {
      return context.signal
    },
    get cancelled() {
      return context.cancelled
    },
    get idempotencyKey() {
      return key ?? context.idempotencyKey
    },
    grace,
    log: context.log,
    progress: context.progress,
    artifact: context.artifact,
    queued: (why) => context.queued(why),
    started: () => context.started(),
  }
}

/** Whether another attempt may succeed, as the job says. */
export function mayRetry(error: unknown): boolean {
  return !isError(error, 'HDL_UNRESPONSIVE') && isRetryable(error)
}
