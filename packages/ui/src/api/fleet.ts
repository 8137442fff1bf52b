/** Workers and campaigns, as views ask for them. */
import type { CampaignHistory, ReplyBody, WorkersView } from '@heddle/server/client'
import { call } from './client.ts'

export type { CampaignHistory }
export type CampaignView = ReplyBody<'GET /campaigns/:id'>
export type FleetWorker = WorkersView['workers'][number]

/** Counts, and the workers themselves. */
export interface FleetSummary extends Omit<ReplyBody<'GET /fleet/summary'>, 'list'> {
  readonly list: readonly FleetWorker[]
}

export async function readFleet(signal: AbortSignal): Promise<FleetSummary> {
  const [counts, { workers }] = await Promise.all([
    call('GET /fleet/summary', { signal }),
    call('GET /fleet/workers', { signal }),
  ])
  return { ...counts, list: workers }
}

export interface CampaignPage {
  readonly campaigns: readonly CampaignView[]
}

/** Campaigns of a page of the list. */
export const campaignsShown = 50

/** Newest first; `before`: when the last one of the page before was made. */
export function listCampaigns(
  before: number | undefined,
  signal: AbortSignal,
): Promise<CampaignPage> {
  const query = { limit: campaignsShown, ...(before !== undefined && { before }) }
  return call('GET /campaigns', { query, signal })
}

/** What the test of a campaign says; of one without a test only its kind. */
export interface RuleView {
  readonly kind: string
  readonly elo0?: number
  readonly elo1?: number
  readonly lower?: number
  readonly upper?: number
  readonly llr?: number
  readonly elo?: number
  readonly interval?: readonly number[]
  readonly los?: number
  readonly estimate?: { readonly elo: number; readonly error: number }
}

export interface ProposalView {
  readonly kind: string
  readonly parameters: readonly {
    readonly name: string
    readonly start: number
    readonly min: number
    readonly max: number
    readonly value: number
  }[]
}

export interface CampaignStats {
  readonly campaign: CampaignView
  readonly rule: RuleView
  readonly proposal?: ProposalView
}

/** The rule and the proposal are as their kinds say, which the table leaves open. */
export function readStats(id: string, signal: AbortSignal): Promise<CampaignStats> {
  return call('GET /campaigns/:id/stats', { params: { id }, signal }) as Promise<CampaignStats>
}

export function readHistory(id: string, signal: AbortSignal): Promise<CampaignHistory> {
  return call('GET /campaigns/:id/history', { params: { id }, signal })
}

export function steerCampaign(
  id: string,
  action: 'stop' | 'pause' | 'resume',
): Promise<CampaignView> {
  return call(`POST /campaigns/:id/${action}`, {
    params: { id },
    body: { reason: `${action} in the dashboard` },
  })
}

export function excludeLease(id: string, lease: string, reason: string): Promise<CampaignView> {
  return call('POST /campaigns/:id/exclude', { params: { id }, body: { lease, reason } })
}
