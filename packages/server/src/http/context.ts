/** What rooms are made from. */
import type {
  ArtifactStore,
  Capacity,
  Clock,
  Journal,
  Kernel,
  LoopWatch,
  OpenStore,
  Places,
  Shards,
  ThreadPool,
} from '@heddle/core/lowlevel'
import type { FastifyRequest } from 'fastify'
import type { Cluster } from '../cluster/cluster.ts'
import type { ServerLimits } from '../limits.ts'
import type { LogEvent } from '../log/log-event.ts'
import type { StoreWatch } from './lifecycle/store-watch.ts'
import type { ParseMeans } from './parse-json.ts'
import type { Call } from './route.ts'

export interface ServerContext {
  readonly kernel: Kernel
  readonly limits: ServerLimits
  /** What the served module exports, or a list of jobs. */
  readonly exported: Readonly<Record<string, unknown>> | readonly unknown[] | undefined
  readonly journal: Journal
  /** The other servers on the same database; undefined when there are none. */
  readonly cluster: Cluster | undefined
  /** The shards of this server: a part of those of its cluster, or all. */
  readonly shards: Shards
  /** Tables of rooms. */
  readonly store: OpenStore
  readonly storeWatch: StoreWatch
  /** Where files are that jobs leave; undefined when nothing keeps them. */
  readonly artifacts: ArtifactStore | undefined
  /** The folder for results; undefined when they are in memory only. */
  readonly resultsFolder: string | undefined
  readonly capacity: Capacity
  readonly places: Places
  /** Threads of jobs. */
  readonly pool: ThreadPool
  /** A thread for the server's own work that must not run on the loop. */
  readonly chores: ThreadPool
  readonly loop: LoopWatch
  /** Server-side events that no client sees. */
  readonly log: (level: 'info' | 'warning', text: string) => void
  /** Writes a line of the structured log. */
  readonly note: (event: LogEvent) => void
}

/** With the fleet, where each tenant has workers of its own. */
export interface PlacedContext extends Omit<ServerContext, 'places'> {
  readonly placesOf: (tenant: string) => Places
}

/** What another server has answered to a call that was forwarded. */
export interface ForwardedAnswer {
  readonly status: number
  /** Undefined when it is a stream. */
  readonly body: Buffer | undefined
}

/** Where several servers share a store: sends calls on to the server that answers them. */
export interface CallForwarding {
  /**
   * Undefined when this server answers, also where that is known later only. Never resolves with the reply: that is a
   * thenable, and would resolve with nothing once it was sent.
   *
   * *Cancellation*: the signal of the call.
   */
  forward(
    name: string,
    call: Call,
    body: string | undefined,
    isStream?: boolean,
  ): Promise<ForwardedAnswer | undefined> | undefined
  /** @throws `HDL_UNAUTHENTICATED` when the body of a forwarded request is not the one that was sent. */
  checkBody(request: FastifyRequest, body: string | undefined): void
}

/** The context of the routes of every room. */
export interface HttpSettings {
  readonly forwarding?: CallForwarding | undefined
  readonly clock: Clock
  readonly parsing: ParseMeans
  /** Milliseconds a request may take. */
  readonly requestLimit: number
}
