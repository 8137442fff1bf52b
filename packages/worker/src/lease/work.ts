/** What the server offers: the bodies of the protocol. */

export interface JobWork {
  readonly job: string
  readonly version: string
  /** The node in its graph. */
  readonly name: string
  readonly attempt: number
  readonly input: unknown
}

export interface CampaignWork {
  readonly campaign: string
  readonly job: string
  readonly version: string
  readonly input: unknown
  readonly start: number
  readonly size: number
  readonly batch: number
  readonly outcomes: readonly string[]
  /** Whether each report has parameters of its own. */
  readonly parameters: boolean
}

export interface Offer {
  readonly lease: string
  readonly epoch: number
  readonly next_beat_ms: number
  readonly stale_ms: number
  readonly work: JobWork | CampaignWork
}

export type ClaimAnswer =
  | { readonly offer: Offer; readonly empty?: undefined }
  | {
      readonly offer?: undefined
      readonly empty: {
        readonly reason: string
        readonly message: string
        readonly retry_after_ms: number
      }
    }

export interface UpdateAnswer {
  readonly counted: boolean
  readonly closed?: string
  readonly problem?: string
}

/** What the job of a campaign gets: some units, and the campaign's own input. */
export interface CampaignUnits {
  readonly input: unknown
  readonly start: number
  readonly count: number
  /** Proposed by the server for these units; null when the campaign tunes nothing. */
  readonly parameters: unknown
}

export function isCampaignWork(work: JobWork | CampaignWork): work is CampaignWork {
  return 'campaign' in work
}
