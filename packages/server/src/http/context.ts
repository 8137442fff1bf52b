/** What rooms are made from. */
import type {
  Capacity,
  Clock,
  Journal,
  Kernel,
  LoopWatch,
  OpenStore,
  Places,
  ThreadPool,
} from '@heddle/core/lowlevel'
import type { Cluster } from '../cluster/cluster.ts'
import type { ServerLimits } from '../limits.ts'
import type { StoreWatch } from './lifecycle/store-watch.ts'

export interface ServerContext {
  readonly kernel: Kernel
  readonly limits: ServerLimits
  /** What the served module exports, or a list of jobs. */
  readonly exported: Readonly<Record<string, unknown>> | readonly unknown[] | undefined
  readonly journal: Journal
  /** The other servers on the same database; undefined when there are none. */
  readonly cluster: Cluster | undefined
  /** Tables of rooms. */
  readonly store: OpenStore
  readonly storeWatch: StoreWatch
  /** The folder for results; undefined when they are in memory only. */
  readonly resultsFolder: string | undefined
  readonly capacity: Capacity
  readonly places: Places
  /** Threads of jobs. */
  readonly pool: ThreadPool
  /** A thread for what the server itself must not do on the loop. */
  readonly chores: ThreadPool
  readonly loop: LoopWatch
  /** Server-side events that no client sees. */
  readonly log: (level: 'info' | 'warning', text: string) => void
}

/** What the routes of every room need. */
export interface HttpSettings {
  readonly clock: Clock
  /** Milliseconds a request may take. */
  readonly requestLimit: number
}
