/** What is worth a line of the structured log. Each field has one meaning in all lines. */
export interface LogEvent {
  readonly event: LogEventName
  /** Route of the table: `POST /jobs/:name`. Never the address itself, which may hold secrets. */
  readonly route?: string | undefined
  /** The id that the client was given: its answer has it too. */
  readonly request?: string | undefined
  readonly status?: number | undefined
  /** Code of the answer, or of the error. */
  readonly code?: string | undefined
  readonly stage?: string | undefined
  readonly caller?: string | undefined
  readonly tenant?: string | undefined
  readonly address?: string | undefined
  readonly job?: string | undefined
  readonly handle?: string | undefined
  readonly index?: number | undefined
  /** Counts from 0. */
  readonly attempt?: number | undefined
  /** In words, for people. */
  readonly reason?: string | undefined
  /** Milliseconds after which the client should come back. */
  readonly retry_after_ms?: number | undefined
  /** Milliseconds until the job is tried again. */
  readonly retry_in_ms?: number | undefined
  /** Milliseconds that it took. */
  readonly ms?: number | undefined
  readonly trace_id?: string | undefined
  readonly span_id?: string | undefined
}

export type LogEventName =
  /** The server did not take a request, or a connection. */
  | 'refused'
  /** A caller, a newer request of its slot or an operator ended it, or no caller was left. */
  | 'cancelled'
  /** A limit was over; `stage` says which. */
  | 'timeout'
  /** The client left before the end of its answer. */
  | 'broken_pipe'
  /** A request was answered 5xx because something failed. */
  | 'failed'
  /** An attempt of a job failed, in whichever place it ran. */
  | 'worker_error'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

export const logLevels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']

/** An event that needs an operator is a warning; everyday events of clients are not. */
export function levelOf({ event, status = 0 }: LogEvent): LogLevel {
  switch (event) {
    case 'cancelled':
    case 'broken_pipe':
      return 'info'
    case 'refused':
      return status === 429 || status >= 500 ? 'warn' : 'info'
    case 'timeout':
      return 'warn'
    case 'failed':
    case 'worker_error':
      return 'error'
  }
}
