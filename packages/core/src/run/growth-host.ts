/** What maps, sub-graphs and steps need of the run they are in. */
import type { RunnerContext } from '../attempts/attempt.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Places } from '../places/find-place.ts'
import type { PartDetail } from '../journal/journal.ts'
import type { NodeAttempt, NodeContext } from '../scheduler/node-attempt.ts'
import type { Growth } from '../scheduler/scheduler.ts'
import type { PlacedNode, PlacedNodes } from './placed.ts'
import type { RunJournal } from './run-journal.ts'

export interface GrowthHost {
  readonly growth: Growth
  readonly clock: Clock
  readonly nodes: PlacedNodes
  readonly places: Places
  readonly journal: RunJournal | undefined
  /** Makes the success of a part durable before it counts, where there is a journal. */
  record(context: RunnerContext, outcome: unknown, node: string, part: PartDetail): unknown
  /** Runs a node: for those of a sub-graph. */
  addNode(
    parent: AttemptContext,
    placed: PlacedNode,
    done: { readonly value: unknown } | undefined,
  ): void
}

/** Calls the job of a part (R5, R6). */
export function beginPart(
  { journal }: GrowthHost,
  context: RunnerContext,
  interruptions: number,
  call: () => unknown,
): unknown {
  return journal === undefined ? call() : journal.begin(context, interruptions, call)
}

/** The context of a node in all its roles. */
export type AttemptContext = NodeAttempt & NodeContext & RunnerContext

/** Rejects when the attempt is aborted, and leaves no listener behind once `work` has settled. */
export async function untilAborted<T>(
  context: AttemptContext,
  work: Promise<T>,
  onAbort: (reason: unknown) => void,
): Promise<T> {
  const { signal } = context
  const ended = Promise.withResolvers<T>()
  const abort = (): void => {
    onAbort(signal.reason)
    ended.reject(signal.reason)
  }
  if (signal.aborted) abort()
  else signal.addEventListener('abort', abort, { once: true })
  work.then(ended.resolve, ended.reject)
  try {
    return await ended.promise
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
