export {
  serveJob,
  type ItemInput,
  type ServedJob,
  type ServeJobOptions,
  type StageLimits,
} from './jobs/served-job.ts'
export {
  startServer,
  type Server,
  type ServerLimits,
  type ServerLog,
  type ServerOptions,
  type ServerStats,
} from './server.ts'
export type { DrainOptions, ServerState } from './http/lifecycle/drain.ts'
export { anonymous, type AccessPolicy, type Caller, type Role } from './http/caller.ts'
export type { Drained } from './http/room.ts'
export {
  schedule,
  type Missed,
  type Overlap,
  type Schedule,
  type ScheduleOptions,
} from './schedules/schedule.ts'
export { openPeople, type OpenPeople } from './people/open-people.ts'
export type { People, TokenScope } from './people/people.ts'
