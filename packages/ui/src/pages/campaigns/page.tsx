/** Campaigns: the list, or one of them. */
import type { JSX } from 'preact'
import type { PageProps } from '../../app/pages.ts'
import { CampaignDetail } from './detail.tsx'
import { CampaignList } from './list.tsx'

export function CampaignsPage({ path }: PageProps): JSX.Element {
  const [id] = path
  return id === undefined ? <CampaignList /> : <CampaignDetail key={id} id={id} />
}
