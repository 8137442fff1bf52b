/** What a process and the keeper of its servers say to each other. */

export interface Command {
  readonly file: string
  readonly args: readonly string[]
}

/** A server as the keeper starts it. */
export interface ServerPlan {
  /** Its folder below the keeper's: made before if it is absent, removed after. */
  readonly folder: string
  /** Written into the folder. */
  readonly files: Readonly<Record<string, string>>
  /** The user that owns the folder and runs the programs; the user of this process when absent. */
  readonly owner?: { readonly uid: number; readonly gid: number }
  /** Run one after the other before the server. */
  readonly before: readonly Command[]
  readonly server: Command
  /** A regular expression: the server is ready when it has printed a line like this. */
  readonly ready: string
  /** Asks the server to end without waiting for its clients. */
  readonly stopSignal: 'SIGTERM' | 'SIGINT'
}

/** Ends the server of a folder; its files stay, and it can be started again. */
export interface EndServer {
  readonly folder: string
  readonly signal: 'SIGKILL' | 'SIGTERM' | 'SIGINT'
}

export type ToKeeper =
  | { readonly id: number; readonly start: ServerPlan }
  | { readonly id: number; readonly end: EndServer }

export type FromKeeper =
  | { readonly folder: string }
  | { readonly id: number; readonly failure: string | undefined }
