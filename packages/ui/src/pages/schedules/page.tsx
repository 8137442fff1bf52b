/** Schedules: when they are due, the outcome of the last time; and starts that wait for their time. */
import { useSignal } from '@preact/signals'
import { Fragment, type JSX } from 'preact'
import { usePoll } from '../../app/poll.ts'
import { link } from '../../app/route.ts'
import {
  cancelStart,
  changeSchedule,
  deleteSchedule,
  listFirings,
  listSchedules,
  type DelayedStart,
  type Firing,
  type ScheduleInfo,
} from '../../api/schedules.ts'
import { may } from '../../api/session.ts'
import { browserClock } from '../../kernel/clock.ts'
import { ask } from '../../parts/confirm.tsx'
import { formatAge, formatDateTime } from '../../parts/format.ts'
import { icons } from '../../parts/icons.tsx'
import { Empty, Failed, Loading } from '../../parts/placeholders.tsx'
import { useResource } from '../../parts/resource.ts'
import { State, StateDot } from '../../parts/state.tsx'
import { TableCard, TableWrap } from '../../parts/table.tsx'
import { askForSchedule } from './new-schedule.tsx'

/** Milliseconds. */
const interval = 5_000

export function SchedulesPage(): JSX.Element {
  const { value, error, reload } = usePoll(listSchedules, interval, [])
  return (
    <main class="page" id="content" tabIndex={0}>
      <div class="page-head">
        <div>
          <h1>Schedules</h1>
          <p>
            Graphs that this server runs by the clock. Times are those of this browser (
            {Intl.DateTimeFormat().resolvedOptions().timeZone}), cron texts those of their own zone.
          </p>
        </div>
        {may('operator') && (
          <button class="button" type="button" onClick={() => void askForSchedule(reload)}>
            {icons.plus} Add a schedule
          </button>
        )}
      </div>
      {error !== undefined && <Failed error={error} onRetry={reload} />}
      {value === undefined ? (
        error === undefined && <Loading />
      ) : (
        <div class="stack">
          {value.schedules.length === 0 ? (
            <Empty title="No schedules">
              <p>Add one here, or export it from the module that is served.</p>
              <pre class="code">
                {"export const schedules = [schedule('nightly', '0 3 * * *', graph)]"}
              </pre>
            </Empty>
          ) : (
            <Table schedules={value.schedules} onChange={reload} />
          )}
          {value.starts.length > 0 && <Starts starts={value.starts} onChange={reload} />}
        </div>
      )}
    </main>
  )
}

function Table({
  schedules,
  onChange,
}: {
  readonly schedules: readonly ScheduleInfo[]
  readonly onChange: () => void
}): JSX.Element {
  const opened = useSignal<string | undefined>(undefined)
  return (
    <TableWrap isCard>
      <table>
        <thead>
          <tr>
            <th>Schedule</th>
            <th>State</th>
            <th>When</th>
            <th>Next</th>
            <th>Last</th>
            <th>
              <span class="sr">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {schedules.map((each) => (
            <Fragment key={each.id}>
              <Row
                schedule={each}
                isOpen={opened.value === each.id}
                onOpen={() => (opened.value = opened.value === each.id ? undefined : each.id)}
                onChange={onChange}
              />
              {opened.value === each.id && (
                <tr>
                  <td colSpan={6}>
                    <Firings schedule={each} />
                  </td>
                </tr>
              )}
            </Fragment>
          ))}
        </tbody>
      </table>
    </TableWrap>
  )
}

interface RowProps {
  readonly schedule: ScheduleInfo
  readonly isOpen: boolean
  readonly onOpen: () => void
  readonly onChange: () => void
}

function Row({ schedule, isOpen, onOpen, onChange }: RowProps): JSX.Element {
  const now = browserClock.wallTime()
  const { name, paused, next, last } = schedule
  return (
    <tr>
      <td>
        <b>{name}</b>{' '}
        <span class="quiet">{schedule.origin === 'made' ? '' : 'from the module'}</span>
        <div class="quiet mono">{schedule.graph}</div>
      </td>
      <td>
        <State state={paused ? 'paused' : 'ok'} text={paused ? 'paused' : 'active'} />
      </td>
      <td>
        <span class="mono nowrap">{schedule.cron}</span>
        <div class="quiet">
          {schedule.timezone}, overlap: {schedule.overlap}
        </div>
      </td>
      <td class="nowrap num">
        {next[0] === undefined ? (
          '–'
        ) : (
          <>
            {formatAge(next[0], now)}
            <div class="quiet" title={next.map(formatDateTime).join('\n')}>
              {formatDateTime(next[0])}
            </div>
          </>
        )}
      </td>
      <td>{last === null ? <span class="quiet">never</span> : <Fired firing={last} />}</td>
      <td class="right">
        <div class="row end">
          <button
            class="button plain small"
            type="button"
            aria-expanded={isOpen}
            aria-label={`History of ${name}`}
            onClick={onOpen}
          >
            History
          </button>
          {may('operator') && (
            <>
              <button
                class="button small"
                type="button"
                aria-label={paused ? `Resume ${name}` : `Pause ${name}`}
                onClick={() => askToPause(schedule, onChange)}
              >
                {paused ? 'Resume' : 'Pause'}
              </button>
              {schedule.origin === 'made' && (
                <button
                  class="button small danger"
                  type="button"
                  aria-label={`Delete ${name}`}
                  onClick={() => askToDelete(schedule, onChange)}
                >
                  Delete
                </button>
              )}
            </>
          )}
        </div>
      </td>
    </tr>
  )
}

const marks: Readonly<Record<Firing['state'], string>> = {
  pending: 'waiting',
  starting: 'ready',
  started: 'succeeded',
  skipped: 'skipped',
  failed: 'failed',
}

function Fired({ firing }: { readonly firing: Firing }): JSX.Element {
  return (
    <>
      <StateDot state={marks[firing.state]} text={firing.state} />{' '}
      {firing.run !== null && <a href={link(['runs', firing.run])}>the run</a>}
      <div class="quiet num">
        {formatDateTime(firing.due_at)}
        {firing.late && ', started late'}
        {firing.reason !== null && `: ${firing.reason}`}
      </div>
    </>
  )
}

function Firings({ schedule }: { readonly schedule: ScheduleInfo }): JSX.Element {
  const { value, error, reload } = useResource((signal) => listFirings(schedule.id, signal), [])
  if (error !== undefined) return <Failed error={error} onRetry={reload} />
  if (value === undefined) return <Loading rows={2} />
  if (value.length === 0) return <p class="quiet">It has not been due yet.</p>
  return (
    <ul class="sessions">
      {value.map((firing) => (
        <li key={firing.due_at}>
          <Fired firing={firing} />
        </li>
      ))}
    </ul>
  )
}

function askToPause({ id, name, paused }: ScheduleInfo, onChange: () => void): void {
  ask({
    title: paused ? `Resume ${name}?` : `Pause ${name}?`,
    consequence: paused
      ? 'It is due again from now on; times in between are left out.'
      : 'No run starts by it until you resume it. Runs under way are not touched.',
    verb: paused ? 'Resume' : 'Pause',
    run: async () => {
      await changeSchedule(id, !paused)
      onChange()
      return paused ? `${name} is resumed.` : `${name} is paused.`
    },
  })
}

function askToDelete({ id, name }: ScheduleInfo, onChange: () => void): void {
  ask({
    title: `Delete ${name}?`,
    consequence: 'No run starts by it any more. Its runs stay. It cannot be undone.',
    verb: `Delete ${name}`,
    isDangerous: true,
    run: async () => {
      await deleteSchedule(id)
      onChange()
      return `${name} is deleted.`
    },
  })
}

function Starts({
  starts,
  onChange,
}: {
  readonly starts: readonly DelayedStart[]
  readonly onChange: () => void
}): JSX.Element {
  const now = browserClock.wallTime()
  return (
    <TableCard title="Starts that wait for their time">
      <table>
        <thead>
          <tr>
            <th>Graph</th>
            <th>Due</th>
            <th>By</th>
            <th>
              <span class="sr">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {starts.map((start) => (
            <tr key={start.id}>
              <td>{start.title ?? start.graph}</td>
              <td class="num nowrap">
                {formatAge(start.due_at, now)}{' '}
                <span class="quiet">{formatDateTime(start.due_at)}</span>
              </td>
              <td class="soft">{start.created_by}</td>
              <td class="right">
                {may('operator') && (
                  <button
                    class="button small danger"
                    type="button"
                    onClick={() =>
                      ask({
                        title: 'Cancel this start?',
                        consequence: `${start.title ?? start.graph} will not start at ${formatDateTime(start.due_at)}.`,
                        verb: 'Cancel the start',
                        isDangerous: true,
                        run: async () => {
                          await cancelStart(start.id)
                          onChange()
                          return 'The start is cancelled.'
                        },
                      })
                    }
                  >
                    Cancel
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
