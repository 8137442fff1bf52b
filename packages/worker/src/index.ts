// oxlint-disable-next-line import/no-unassigned-import -- it throws on a Node that is too old
import '@heddle/core'
export { Worker, type WorkerEnd, type WorkerEvent, type WorkerOptions } from './worker.ts'
export type { CampaignUnits } from './lease/offered-work.ts'
export type { WorkerConcurrency } from './runner/lease-room.ts'
