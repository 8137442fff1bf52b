import type { Capacity, Clock, LoopWatch, ThreadPool } from '@heddle/core/lowlevel'
import type { Arrivals } from '../lifecycle/arrivals.ts'
import type { Connections } from '../lifecycle/connections.ts'
import type { Drain } from '../lifecycle/drain.ts'
import type { StoreWatch } from '../lifecycle/store-watch.ts'
import type { JobTable } from '../service/job-table.ts'
import type { JobService } from '../service/service.ts'

/** What routes are given. */
export interface ApiContext {
  readonly jobs: JobTable
  readonly service: JobService
  readonly capacity: Capacity
  /** Threads of jobs, and of what the server itself must not do on the loop. */
  readonly pool: ThreadPool
  readonly chores: ThreadPool
  readonly loop: LoopWatch
  readonly drain: Drain
  readonly storeWatch: StoreWatch
  readonly connections: Connections
  readonly arrivals: Arrivals
  readonly clock: Clock
  /** Milliseconds a request may take. */
  readonly requestLimit: number
}
