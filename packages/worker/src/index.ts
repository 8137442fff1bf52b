export { Worker, type WorkerEnd, type WorkerEvent, type WorkerOptions } from './worker.ts'
export type { CampaignUnits } from './lease/work.ts'
