/** One campaign: its progress, its results, and the workers that delivered them. */
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { useActions } from '../../app/actions.ts'
import { usePoll } from '../../app/poll.ts'
import { link } from '../../app/route.ts'
import {
  excludeLease,
  readHistory,
  readStats,
  steerCampaign,
  type CampaignHistory,
  type CampaignStats,
  type CampaignView,
  type RuleView,
} from '../../api/fleet.ts'
import { isMissing } from '../../api/errors.ts'
import { has } from '../../api/features.ts'
import { listArtifacts } from '../../api/runs.ts'
import { may } from '../../api/session.ts'
import { browserClock } from '../../kernel/clock.ts'
import { nameView } from '../../parts/announce.tsx'
import { ArtifactsCard } from '../../parts/artifacts.tsx'
import { Chart } from '../../parts/chart.tsx'
import { colours, lineColours } from '../../parts/colours.ts'
import { ask } from '../../parts/confirm.tsx'
import { TextField } from '../../parts/field.tsx'
import { Figure } from '../../parts/figure.tsx'
import {
  formatCount,
  formatDateTime,
  formatDuration,
  formatPercent,
  formatRate,
  formatSigned,
  formatTime,
  plural,
} from '../../parts/format.ts'
import { icons } from '../../parts/icons.tsx'
import { Empty, Failed, Loading } from '../../parts/placeholders.tsx'
import { useResource } from '../../parts/resource.ts'
import { State } from '../../parts/state.tsx'
import { TableCard } from '../../parts/table.tsx'
import { Units } from './list.tsx'
import { formatElo, markOf, suspicious } from './campaign-words.ts'

/** Milliseconds. */
const interval = 2_000

interface Loaded {
  readonly stats: CampaignStats
  readonly history: CampaignHistory
}

export function CampaignDetail({ id }: { readonly id: string }): JSX.Element {
  const { value, error, reload } = usePoll(
    async (signal): Promise<Loaded> => {
      const [stats, history] = await Promise.all([readStats(id, signal), readHistory(id, signal)])
      return { stats, history }
    },
    interval,
    [id],
  )
  const name = value?.stats.campaign.name
  useEffect(() => nameView(name ?? `Campaign ${id}`), [name])
  return (
    <main class="page" id="content" tabIndex={0}>
      {error !== undefined && !isMissing(error) && <Failed error={error} onRetry={reload} />}
      {isMissing(error) ? (
        <Empty title="There is no such campaign">
          <p>
            <a href={link(['campaigns'])}>All campaigns</a>
          </p>
        </Empty>
      ) : value === undefined ? (
        error === undefined && <Loading />
      ) : (
        <Content loaded={value} onChange={reload} />
      )}
    </main>
  )
}

function Content({
  loaded,
  onChange,
}: {
  readonly loaded: Loaded
  readonly onChange: () => void
}): JSX.Element {
  const { stats, history } = loaded
  const { campaign, rule, proposal } = stats
  const { mark, word } = markOf(campaign)
  return (
    <div class="stack">
      <div class="page-head flush">
        <div>
          <div class="row">
            <State state={mark} text={word} />
            <h1>{campaign.name}</h1>
          </div>
          <p>
            <span class="mono">{campaign.job}</span> version {campaign.version}, by {campaign.owner}
            , {formatDateTime(campaign.created_at)}
          </p>
        </div>
        <Actions campaign={campaign} onChange={onChange} />
      </div>
      {campaign.ended !== undefined && (
        <p class="note">
          <span>
            Ended {formatDateTime(campaign.ended.at)}: {campaign.ended.why.replaceAll('_', ' ')}
            {campaign.ended.detail !== '' && `, ${campaign.ended.detail}`}.
          </span>
        </p>
      )}
      <Figures campaign={campaign} rule={rule} />
      {history.test !== null && <TestChart test={history.test} rule={rule} />}
      {history.parameters !== null && <Parameters stats={stats} history={history.parameters} />}
      <Counts campaign={campaign} />
      <Workers history={history} hasResiduals={campaign.outcomes.length > 0} />
      <Leases campaign={campaign} history={history} onChange={onChange} />
      <CampaignArtifacts campaign={campaign} />
      {proposal !== undefined && history.parameters === null && (
        <p class="quiet">No samples yet.</p>
      )}
    </div>
  )
}

/** Asked for again when another lease has ended: a campaign may have thousands of them. */
function CampaignArtifacts({ campaign }: { readonly campaign: CampaignView }): JSX.Element | null {
  const { value } = useResource(
    async (signal) =>
      has('GET /artifacts/{run}') ? listArtifacts(campaign.id, undefined, signal) : [],
    [campaign.id, campaign.done],
  )
  return value === undefined ? null : <ArtifactsCard run={campaign.id} list={value} />
}

function Figures({
  campaign,
  rule,
}: {
  readonly campaign: CampaignView
  readonly rule: RuleView
}): JSX.Element {
  const isRunning = campaign.phase === 'running'
  return (
    <dl class="figures">
      <Figure
        title="Units"
        value={formatPercent(campaign.done / Math.max(1, campaign.units))}
        note={<Units campaign={campaign} />}
      />
      {rule.kind === 'sprt' && (
        <Figure
          title="Log-likelihood ratio"
          value={formatSigned(rule.llr ?? 0)}
          note={`between ${formatSigned(rule.lower ?? 0)} and ${formatSigned(rule.upper ?? 0)}`}
        />
      )}
      {rule.estimate !== undefined && (
        <Figure
          title="Elo"
          value={formatElo(rule.estimate.elo, rule.estimate.error)}
          note={rule.los === undefined ? '' : `${formatPercent(rule.los)} likely to be better`}
        />
      )}
      <Figure
        title="Workers at work"
        value={formatCount(campaign.workers)}
        note={plural(campaign.leases, 'lease')}
      />
      <Figure
        title="Units a second"
        value={isRunning ? formatRate(campaign.units_per_second) : '–'}
        note={
          campaign.workers === 0
            ? isRunning
              ? 'no worker is at work'
              : ''
            : campaign.time_left_ms === undefined
              ? ''
              : `${formatDuration(campaign.time_left_ms)} left at most`
        }
      />
      {campaign.excluded > 0 && (
        <Figure
          title="Excluded"
          value={formatCount(campaign.excluded)}
          note="leases whose results do not count"
        />
      )}
    </dl>
  )
}

function TestChart({
  test,
  rule,
}: {
  readonly test: NonNullable<CampaignHistory['test']>
  readonly rule: RuleView
}): JSX.Element {
  const colour = colours()
  const flat = (value: number): number[] => test.at.map(() => value)
  if (test.at.length === 0) {
    return <p class="note">The test has no results yet: they count when a lease ends.</p>
  }
  return (
    <section class="card body">
      <Chart
        title={`Test of Elo ${rule.elo0} against ${rule.elo1}`}
        times={test.at.map((at) => at / 1_000)}
        format={formatSigned}
        height={220}
        isSigned
        series={[
          { label: 'LLR', colour: colour.accent, values: test.llr },
          { label: 'accepted at', colour: colour.states[4]!, values: flat(test.upper) },
          { label: 'rejected at', colour: colour.states[5]!, values: flat(test.lower) },
        ]}
      />
    </section>
  )
}

function Parameters({
  stats,
  history,
}: {
  readonly stats: CampaignStats
  readonly history: NonNullable<CampaignHistory['parameters']>
}): JSX.Element {
  const colour = colours()
  const lines = lineColours(colour)
  const proposed = stats.proposal?.parameters ?? []
  /** Each on its own scale: the share of its range. */
  const shareOf = (index: number, value: number): number => {
    const { min = 0, max = 1 } = proposed[index] ?? {}
    return max === min ? 0 : (value - min) / (max - min)
  }
  return (
    <>
      <section class="card body">
        <Chart
          title="Parameters, as share of their range"
          times={history.at.map((at) => at / 1_000)}
          format={formatPercent}
          height={200}
          // The table below has all of them.
          series={history.names.slice(0, lines.length).map((name, index) => ({
            label: name,
            colour: lines[index]!,
            values: history.values[index]!.map((value) => shareOf(index, value)),
          }))}
        />
      </section>
      <TableCard title="Parameters">
        <table>
          <thead>
            <tr>
              <th>Parameter</th>
              <th class="right">Now</th>
              <th class="right">At the start</th>
              <th class="right">Change</th>
              <th>Range</th>
            </tr>
          </thead>
          <tbody>
            {proposed.map(({ name, value, start, min, max }) => (
              <tr key={name}>
                <td class="mono">{name}</td>
                <td class="right">{value.toFixed(3)}</td>
                <td class="right soft">{start}</td>
                <td class="right">{signed(value - start)}</td>
                <td class="soft num">
                  {min} to {max}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableCard>
    </>
  )
}

function signed(value: number): string {
  return `${value >= 0 ? '+' : '−'}${Math.abs(value).toFixed(3)}`
}

function Counts({ campaign }: { readonly campaign: CampaignView }): JSX.Element | null {
  const { outcomes, total } = campaign
  if (outcomes.length === 0 || !Array.isArray(total)) return null
  const counts = total as readonly number[]
  const sum = counts.reduce((before, count) => before + count, 0)
  return (
    <dl class="figures">
      {outcomes.map((outcome, index) => (
        <Figure
          key={outcome}
          title={outcome}
          value={formatCount(counts[index] ?? 0)}
          note={formatPercent((counts[index] ?? 0) / Math.max(1, sum))}
        />
      ))}
    </dl>
  )
}

function Workers({
  history,
  hasResiduals,
}: {
  readonly history: CampaignHistory
  readonly hasResiduals: boolean
}): JSX.Element | null {
  if (history.workers.length === 0) return null
  return (
    <TableCard
      title="Workers"
      side={
        hasResiduals && <span class="quiet">Residual: standard deviations from all others</span>
      }
    >
      <table>
        <thead>
          <tr>
            <th>Worker</th>
            <th class="right">Leases</th>
            <th class="right">Units</th>
            <th class="right">Ended early</th>
            {hasResiduals && <th class="right">Residual</th>}
          </tr>
        </thead>
        <tbody>
          {history.workers.map((worker) => (
            <tr key={worker.worker}>
              <td>
                <a href={link(['fleet'], { q: worker.worker })}>{worker.worker}</a>
              </td>
              <td class="right">{formatCount(worker.leases)}</td>
              <td class="right">{formatCount(worker.done)}</td>
              <td class="right">{formatCount(worker.failed)}</td>
              {hasResiduals && (
                <td class={`right ${(worker.residual ?? 0) >= suspicious ? 'bad-text' : ''}`}>
                  {worker.residual === null ? '–' : formatSigned(worker.residual)}
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </TableCard>
  )
}

interface LeasesProps {
  readonly campaign: CampaignView
  readonly history: CampaignHistory
  readonly onChange: () => void
}

function Leases({ campaign, history, onChange }: LeasesProps): JSX.Element | null {
  if (history.leases.length === 0) return null
  const canExclude = campaign.phase !== 'ended' && may('operator')
  return (
    <TableCard
      title="Last leases that ended"
      side={
        history.left_out > 0 && (
          <span class="quiet">{formatCount(history.left_out)} older leases are not listed</span>
        )
      }
    >
      <table>
        <thead>
          <tr>
            <th>Lease</th>
            <th>Worker</th>
            <th class="right">Units</th>
            <th>Ended</th>
            <th>Time</th>
            <th>
              <span class="sr">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {history.leases.map((lease) => (
            <tr key={lease.lease}>
              <td class="mono">{lease.lease.split(/\W/).at(-1)}</td>
              <td>{lease.worker}</td>
              <td class="right">
                {formatCount(lease.done)} of {formatCount(lease.units)}
              </td>
              <td class="soft">
                {lease.excluded === ''
                  ? lease.closed.replaceAll('_', ' ')
                  : `excluded: ${lease.excluded}`}
              </td>
              <td class="nowrap soft num">
                {formatTime(lease.granted_at, browserClock.wallTime())},{' '}
                {formatDuration(lease.seen_at - lease.granted_at)}
              </td>
              <td class="right">
                {canExclude && lease.excluded === '' && lease.done > 0 && (
                  <button
                    class="button plain small"
                    type="button"
                    aria-label={`Exclude lease ${lease.lease}`}
                    onClick={() => askToExclude(campaign, lease, onChange)}
                  >
                    Exclude
                  </button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableCard>
  )
}

function askToExclude(
  campaign: CampaignView,
  lease: CampaignHistory['leases'][number],
  onChange: () => void,
): void {
  const typed = { reason: '' }
  ask({
    title: 'Exclude this lease?',
    consequence: `${plural(lease.done, 'unit')} of ${lease.worker} no longer count and are done again by other workers. It cannot be undone.`,
    verb: 'Exclude the lease',
    isDangerous: true,
    fields: <TextField title="Reason" into={typed} name="reason" isRequired />,
    run: async () => {
      await excludeLease(campaign.id, lease.lease, typed.reason)
      onChange()
      return 'The lease is excluded.'
    },
  })
}

function Actions({
  campaign,
  onChange,
}: {
  readonly campaign: CampaignView
  readonly onChange: () => void
}): JSX.Element | null {
  const { id, phase, units, done, leases } = campaign
  const isPaused = phase === 'paused'
  const canSteer = phase !== 'ended' && may('operator')
  const steer = async (action: 'stop' | 'pause' | 'resume', said: string): Promise<string> => {
    await steerCampaign(id, action)
    onChange()
    return said
  }
  const pause = (): void =>
    ask({
      title: 'Pause this campaign?',
      consequence: 'Leases that are held are finished and count. No more units are handed out.',
      verb: 'Pause',
      run: () => steer('pause', 'The campaign is paused.'),
    })
  const resume = (): void =>
    ask({
      title: 'Resume this campaign?',
      consequence: `Workers get units again: ${formatCount(units - done)} are left.`,
      verb: 'Resume',
      run: () => steer('resume', 'The campaign is resumed.'),
    })
  const stop = (): void =>
    ask({
      title: 'Stop this campaign?',
      consequence: `${formatCount(done)} of ${formatCount(units)} units are done and stay counted; ${plural(leases, 'lease')} so far. It cannot be resumed.`,
      verb: 'Stop the campaign',
      isDangerous: true,
      run: () => steer('stop', 'The campaign is stopped.'),
    })
  const [verb, toggle] = isPaused ? (['Resume', resume] as const) : (['Pause', pause] as const)
  const group = 'Campaign'
  useActions(
    canSteer
      ? [
          { id: 'campaign-pause', key: 'p', title: `${verb} the campaign`, group, run: toggle },
          { id: 'campaign-stop', key: 'q', title: 'Stop the campaign', group, run: stop },
        ]
      : [],
    [canSteer, isPaused, done],
  )
  if (!canSteer) return null
  return (
    <div class="row">
      <button class="button" type="button" onClick={toggle}>
        {isPaused ? icons.play : icons.pause} {verb}
      </button>
      <button class="button danger" type="button" onClick={stop}>
        {icons.stop} Stop
      </button>
    </div>
  )
}
