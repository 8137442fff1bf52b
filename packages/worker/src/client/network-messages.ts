/** Between the loop of a worker and its network thread. */

export type ToNetwork =
  | {
      readonly kind: 'call'
      readonly id: number
      readonly path: string
      readonly body: string
      readonly within: number
    }
  /** The call that asked has ended: what comes next must not wait behind its request. */
  | { readonly kind: 'cut'; readonly id: number }
  | {
      readonly kind: 'upload'
      readonly id: number
      readonly path: string
      /** Sent from byte `start` on. */
      readonly file: string
      readonly start: number
      readonly length: number
      readonly within: number
    }
  | {
      readonly kind: 'download'
      readonly id: number
      readonly path: string
      /** Where its bytes go. */
      readonly file: string
      readonly within: number
    }
  | { readonly kind: 'ask'; readonly id: number; readonly path: string; readonly within: number }
  | {
      readonly kind: 'hold'
      readonly lease: string
      readonly epoch: number
      readonly nextBeat: number
      /** Whether the server may ask to stop it: a job, which people cancel and which has a timeout. */
      readonly isWatched: boolean
    }
  | { readonly kind: 'drop'; readonly lease: string }
  /** The answer to a ping: the loop runs. */
  | { readonly kind: 'pong' }
  | {
      readonly kind: 'progress'
      readonly lease: string
      readonly fraction?: number | undefined
      readonly text?: string | undefined
    }

export type FromNetwork =
  | { readonly kind: 'answer'; readonly id: number; readonly status: number; readonly body: string }
  | { readonly kind: 'failed'; readonly id: number; readonly problem: string }
  | { readonly kind: 'lost'; readonly lease: string; readonly reason: string }
  | { readonly kind: 'stop'; readonly lease: string; readonly reason: string }
  | { readonly kind: 'contact' }
  | { readonly kind: 'ping' }

export interface NetworkSettings {
  readonly server: string
  readonly token: string | undefined
  readonly worker: string
  /** Milliseconds: see WorkerOptions. */
  readonly watchdog: number | undefined
}
