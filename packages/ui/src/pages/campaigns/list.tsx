/** All campaigns, newest first. */
import type { JSX } from 'preact'
import { address, go } from '../../app/address.ts'
import { usePoll } from '../../app/poll.ts'
import { link } from '../../app/route.ts'
import { serverUrl } from '../../api/client.ts'
import { campaignsShown, listCampaigns, type CampaignView } from '../../api/fleet.ts'
import { browserClock } from '../../kernel/clock.ts'
import { formatAge, formatCount, formatDuration, formatRate } from '../../parts/format.ts'
import { Empty, Failed, Loading } from '../../parts/placeholders.tsx'
import { State } from '../../parts/state.tsx'
import { TableWrap } from '../../parts/table.tsx'
import { markOf } from './campaign-words.ts'

/** Milliseconds. */
const interval = 2_000

export function CampaignList(): JSX.Element {
  const { before } = address.value.query
  const { value, error, reload } = usePoll(
    (signal) => listCampaigns(before === undefined ? undefined : Number(before), signal),
    interval,
    [before],
  )
  const last = value?.campaigns[campaignsShown - 1]
  return (
    <main class="page" id="content" tabIndex={0}>
      <div class="page-head">
        <div>
          <h1>Campaigns</h1>
          <p>Large numbers of units, handed out to the workers of the fleet.</p>
        </div>
      </div>
      {error !== undefined && <Failed error={error} onRetry={reload} />}
      {value === undefined ? (
        error === undefined && <Loading />
      ) : value.campaigns.length === 0 ? (
        <Empty title={before === undefined ? 'No campaigns yet' : 'No older campaigns'}>
          <p>A campaign is started over HTTP, and workers with its job claim units of it.</p>
          <pre class="code wrap">{`curl ${serverUrl}/campaigns \\
  --json '{"name":"patch 12","job":"match","units":40000,"rule":{"kind":"sprt","elo0":0,"elo1":5}}'`}</pre>
        </Empty>
      ) : (
        <TableWrap isCard>
          <table>
            <thead>
              <tr>
                <th>State</th>
                <th>Campaign</th>
                <th class="wide">Units</th>
                <th class="right">Workers</th>
                <th class="right">Units a second</th>
                <th>Time left</th>
                <th>Started</th>
              </tr>
            </thead>
            <tbody>
              {value.campaigns.map((campaign) => (
                <Row key={campaign.id} campaign={campaign} />
              ))}
            </tbody>
          </table>
        </TableWrap>
      )}
      {(last !== undefined || before !== undefined) && (
        <nav class="more row" aria-label="Pages">
          {before !== undefined && (
            <a class="button" href={link(['campaigns'])}>
              Newest campaigns
            </a>
          )}
          {last !== undefined && (
            <a class="button" href={link(['campaigns'], { before: String(last.created_at) })}>
              Older campaigns
            </a>
          )}
        </nav>
      )}
    </main>
  )
}

function Row({ campaign }: { readonly campaign: CampaignView }): JSX.Element {
  const href = link(['campaigns', campaign.id])
  return (
    <tr
      class="link"
      onClick={(event) => {
        if ((event.target as HTMLElement).closest('a') === null) go(href)
      }}
    >
      <td>
        <State state={markOf(campaign).mark} text={markOf(campaign).word} />
      </td>
      <td>
        <a href={href}>{campaign.name}</a> <span class="quiet mono">{campaign.job}</span>
      </td>
      <td class="wide">
        <Units campaign={campaign} />
      </td>
      <td class="right">{formatCount(campaign.workers)}</td>
      <td class="right">
        {campaign.phase === 'running' ? formatRate(campaign.units_per_second) : '–'}
      </td>
      <td class="nowrap">
        {campaign.time_left_ms === undefined || campaign.workers === 0
          ? '–'
          : formatDuration(campaign.time_left_ms)}
      </td>
      <td class="nowrap soft">{formatAge(campaign.created_at, browserClock.wallTime())}</td>
    </tr>
  )
}

export function Units({ campaign }: { readonly campaign: CampaignView }): JSX.Element {
  const { units, done } = campaign
  const share = Math.min(1, done / Math.max(1, units))
  return (
    <div class="share-row">
      <progress
        class="units"
        max={1}
        value={share}
        aria-label={`${formatCount(done)} of ${formatCount(units)} units`}
      />
      <span class="num quiet nowrap">
        {formatCount(done)}/{formatCount(units)}
      </span>
    </div>
  )
}
