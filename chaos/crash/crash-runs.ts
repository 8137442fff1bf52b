/** Campaigns side by side, and their counts together. */
import path from 'node:path'
import { campaign, emptyReport, type CampaignOptions, type CrashReport } from './campaign.ts'

export interface CrashOptions extends CampaignOptions {
  /** Campaigns at the same time, each with a journal of its own. */
  readonly streams: number
}

export async function crashRuns(options: CrashOptions): Promise<CrashReport> {
  const { streams, kills, seed, folder } = options
  const reports = await Promise.all(
    Array.from({ length: streams }, (_, i) =>
      campaign({
        ...options,
        seed: seed + i,
        // The remainder goes to the first ones.
        kills: Math.floor(kills / streams) + (i < kills % streams ? 1 : 0),
        folder: path.join(folder, `stream-${i}`),
      }),
    ),
  )
  const total = emptyReport()
  for (const { problems, ...counts } of reports) {
    total.problems.push(...problems)
    for (const key of Object.keys(counts) as (keyof typeof counts)[]) total[key] += counts[key]
  }
  return total
}
