/**
 * The parts of its peers that the bench uses. They are installed when the suite is first run,
 * so the compiler cannot rely on their own types.
 */

declare module 'ioredis' {
  export class Redis {
    constructor(address: string, options: { maxRetriesPerRequest: null })
  }
}

declare module 'bullmq' {
  import type { Redis } from 'ioredis'

  export class Queue<D> {
    constructor(
      name: string,
      options: { connection: Redis; defaultJobOptions: { removeOnComplete: boolean } },
    )
    addBulk(jobs: readonly { name: string; data: D }[]): Promise<unknown>
    waitUntilReady(): Promise<unknown>
  }

  export class Worker<D> {
    constructor(
      name: string,
      processor: (job: { data: D }) => Promise<void>,
      options: { connection: Redis; concurrency: number },
    )
    on(event: 'completed', listener: (job: { data: D }) => void): this
    waitUntilReady(): Promise<unknown>
  }
}

declare module 'graphile-worker' {
  interface WorkerOptions {
    readonly connectionString: string
    readonly schema: string
    readonly concurrentJobs: number
    readonly maxPoolSize: number
    readonly localQueue?: { readonly size: number }
    readonly completeJobBatchDelay?: number
    readonly logger: Logger
  }

  interface Preset {
    readonly worker: WorkerOptions
  }

  export class Logger {
    constructor(factory: () => (level: string, message: string) => void)
  }

  export function run(options: {
    readonly preset: Preset
    readonly taskList: Readonly<Record<string, (payload: unknown) => void>>
    readonly noHandleSignals: boolean
  }): Promise<{
    readonly events: {
      on(event: 'job:complete', listener: (event: { job: { payload: unknown } }) => void): void
    }
  }>

  export function makeWorkerUtils(options: { readonly preset: Preset }): Promise<{
    addJobs(jobs: readonly { identifier: string; payload: unknown }[]): Promise<unknown>
  }>
}

declare module 'pg-boss' {
  export class PgBoss {
    constructor(options: {
      connectionString: string
      schema: string
      supervise: boolean
      schedule: boolean
    })
    start(): Promise<unknown>
    createQueue(name: string): Promise<void>
    insert(name: string, jobs: readonly { data: object }[]): Promise<unknown>
    fetch<T>(name: string, options: { batchSize: number }): Promise<{ id: string; data: T }[]>
    complete(name: string, ids: readonly string[]): Promise<unknown>
  }
}

declare module 'better-sqlite3' {
  export default class Database {
    constructor(file: string)
    pragma(text: string): unknown
  }
}

declare module 'plainjob' {
  import type Database from 'better-sqlite3'

  interface Connection {
    readonly driver: string
  }

  export function better(database: Database): Connection

  export function defineQueue(options: { connection: Connection }): {
    add(type: string, data: unknown): { id: number }
    addMany(type: string, data: readonly unknown[]): { ids: number[] }
    getAndMarkJobAsProcessing(type: string): { id: number } | undefined
    getJobById(id: number): { data: string } | undefined
    markJobAsDone(id: number): void
  }
}

declare module 'knex' {
  export interface Knex {
    raw(sql: string): Promise<unknown>
  }

  export default function createKnex(options: {
    client: 'better-sqlite3'
    connection: { filename: string }
    useNullAsDefault: boolean
  }): Knex
}

declare module '@boringnode/queue' {
  import type { Knex } from 'knex'

  export class QueueSchemaService {
    constructor(connection: Knex)
    createJobsTable(): Promise<void>
  }
}

declare module '@boringnode/queue/drivers/knex_adapter' {
  import type { Knex } from 'knex'

  interface Job {
    readonly id: string
    readonly name: string
    readonly payload: number
    readonly attempts: number
  }

  export class KnexAdapter {
    constructor(options: { connection: Knex })
    setWorkerId(id: string): void
    pushManyOn(queue: string, jobs: readonly Job[]): Promise<void>
    popFrom(queue: string): Promise<Job | null>
    completeJob(id: string, queue: string, remove: boolean): Promise<void>
  }
}

declare module 'openworkflow/sqlite' {
  export class BackendSqlite {
    static connect(file: string): BackendSqlite & import('./openworkflow-steps.ts').StepStore
    readonly db: { exec(sql: string): void }
  }
}

declare module 'openworkflow/postgres' {
  export class BackendPostgres {
    static connect(
      address: string,
      options: { schema: string },
    ): Promise<BackendPostgres & import('./openworkflow-steps.ts').StepStore>
  }
}

declare module '@dbos-inc/dbos-sdk' {
  export const DBOS: {
    setConfig(config: {
      name: string
      applicationVersion: string
      systemDatabaseUrl: string
      systemDatabaseSchemaName: string
      logLevel: string
    }): void
    launch(): Promise<void>
    registerWorkflow(workflow: () => Promise<void>, options: { name: string }): () => Promise<void>
    startWorkflow(workflow: () => Promise<void>): () => Promise<unknown>
    runStep(step: () => Promise<void>, options: { name: string }): Promise<void>
  }
}
