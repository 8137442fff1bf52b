export {
  serveJob,
  type ItemInput,
  type ServedJob,
  type ServeJobOptions,
  type StageLimits,
} from './service/served-job.ts'
export {
  startServer,
  type Server,
  type ServerLimits,
  type ServerLog,
  type ServerOptions,
  type ServerStats,
} from './server.ts'
export type { Drained, DrainOptions, ServerState } from './lifecycle/drain.ts'
