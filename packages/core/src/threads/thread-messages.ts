/**
 * What the loop and a thread say to each other.
 *
 * Tasks and results are flat arrays: an object per task costs about 0.4 µs more on each side.
 */
import type { MessagePort } from 'node:worker_threads'
import type { ArtifactControl, ArtifactNotice } from './artifact-flow.ts'
import type { ErrorWire } from './error-wire.ts'
import type { LogLines, LogWords } from './log-flow.ts'
import type { Ticket } from './task-ownership.ts'

/** Given to a thread when it starts. */
export interface ThreadData {
  readonly port: MessagePort
  readonly words: Int32Array<SharedArrayBuffer>
  /** The number of log lines of its jobs that the loop has read. */
  readonly logWords: LogWords
  readonly loadLimit: number
}

/** Tasks, seven fields each: ticket, job id, node name (undefined = the job's), attempt, input, idempotency key, trace. */
export type TaskBatch = unknown[]
export const taskFields = 7

/** Messages to the thread, besides tasks. */
export type Control =
  | { readonly type: 'job'; readonly id: number; readonly module: string; readonly name: string }
  | { readonly type: 'cancel'; readonly ticket: Ticket; readonly reason: ErrorWire }
  /** The input of the task that follows is in the pieces of an encoded value. */
  | { readonly type: 'encoded'; readonly ticket: Ticket }
  | ArtifactControl

/** How a job ended. */
export const outcome = { value: 0, error: 1, notCloneable: 2, encoded: 3 } as const
export type Outcome = (typeof outcome)[keyof typeof outcome]

/** One result: ticket, outcome, milliseconds it ran, value, {@link ErrorWire}, message or encoded value. */
export type ResultMessage = readonly [Ticket, Outcome, number, unknown]

/** Messages to the loop, besides results. */
export type Notice =
  | { readonly type: 'ready' }
  /** Lines of `ctx.log()` and reports of `ctx.progress()`, in order. */
  | { readonly type: 'log'; readonly lines: LogLines }
  | ArtifactNotice
  /** Whether something that was written to stdout or stderr has not arrived yet. */
  | { readonly type: 'writing'; readonly isWriting: boolean }
  /** An error that was not caught. The thread ends, at once or after the job that runs. */
  | { readonly type: 'fault'; readonly error: ErrorWire }
