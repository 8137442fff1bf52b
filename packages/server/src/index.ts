// oxlint-disable-next-line import/no-unassigned-import -- it throws on a Node that is too old
import '@heddle/core'
export {
  serveJob,
  type ItemInput,
  type Prefetch,
  type ServedJob,
  type ServeJobOptions,
  type StageLimits,
  type Superset,
} from './jobs/served-job.ts'
export {
  startServer,
  type Server,
  type ServerLimits,
  type ServerLog,
  type ServerOptions,
  type ServerStats,
} from './server.ts'
export type { ServerConfig } from './server-config.ts'
export type { DrainOptions, ServerState } from './http/lifecycle/drain.ts'
export { anonymous, type AccessPolicy, type Caller, type Role } from './http/caller.ts'
export type { Drained } from './http/room.ts'
export type { LogEvent, LogEventName, LogLevel } from './log/log-event.ts'
export type { LogOptions } from './log/structured-log.ts'
export {
  schedule,
  type Missed,
  type Overlap,
  type Schedule,
  type ScheduleOptions,
} from './schedules/schedule.ts'
export {
  campaign,
  type CampaignOptions,
  type CampaignReduce,
  type CampaignTuning,
  type OwnCampaign,
} from './campaigns/own-campaign.ts'
export { openPeople, type OpenPeople } from './people/open-people.ts'
export type { People, TokenScope } from './people/people.ts'
