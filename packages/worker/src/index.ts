export { Worker, type WorkerEnd, type WorkerEvent, type WorkerOptions } from './worker.ts'
export type { CampaignUnits } from './lease/offered-work.ts'
export type { WorkerConcurrency } from './runner/lease-room.ts'
