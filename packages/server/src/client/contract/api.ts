/** All routes of a server. A room adds its list here, and the client knows its routes. */
import { adminContracts } from './admin.ts'
import { artifactContracts } from './artifacts.ts'
import { campaignContracts } from './campaigns.ts'
import { failureContracts } from './failures.ts'
import { fleetContracts } from './fleet.ts'
import { jobContracts } from './jobs.ts'
import { machineContracts } from './machine.ts'
import { peopleContracts } from './people.ts'
import { runContracts } from './runs.ts'
import { scheduleContracts } from './schedules.ts'

export const api = [
  ...jobContracts,
  ...runContracts,
  ...scheduleContracts,
  ...peopleContracts,
  ...fleetContracts,
  ...campaignContracts,
  ...machineContracts,
  ...artifactContracts,
  ...failureContracts,
  ...adminContracts,
] as const

export type Api = (typeof api)[number]
