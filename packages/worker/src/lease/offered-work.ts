/** What the server offers: the bodies of the protocol. */

export interface JobWork {
  readonly job: string
  readonly version: string
  /** The node in its graph. */
  readonly name: string
  readonly attempt: number
  /** `ctx.idempotencyKey`. */
  readonly key?: string
  /** Milliseconds that the job has to end when it is asked to stop. */
  readonly grace_ms?: number
  readonly input?: unknown
  /** The input is not in the offer: it is large, or not JSON. */
  readonly input_bytes?: boolean
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

/** A lease that is still held, whose job the server asks to stop. */
export interface StopRequest {
  readonly lease: string
  readonly reason: string
}

/** Why there is no offer. */
export interface EmptyClaim {
  readonly reason: string
  readonly message: string
  readonly retry_after_ms: number
}

/** One of the first two is there; a program that is not a server of ours may send anything. */
export interface ClaimAnswer {
  readonly offer?: unknown
  readonly empty?: unknown
  readonly stop?: readonly StopRequest[]
}

export function isOffer(given: unknown): given is Offer {
  const { lease, epoch, work } = (given ?? {}) as Partial<Offer>
  return typeof lease === 'string' && typeof epoch === 'number' && typeof work?.job === 'string'
}

export function isEmpty(given: unknown): given is EmptyClaim {
  const { reason, message } = (given ?? {}) as Partial<EmptyClaim>
  return typeof reason === 'string' && typeof message === 'string'
}

export interface UpdateAnswer {
  readonly counted: boolean
  readonly closed?: string
  readonly problem?: string
}

/** The input of a campaign's job: some units, and the campaign's own input. */
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
