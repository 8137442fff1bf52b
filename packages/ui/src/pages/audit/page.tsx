/** The log of actions: who changed what, from where. Filters are in the address. */
import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useKeys } from '../../app/actions.ts'
import { address, setQuery } from '../../app/address.ts'
import { link } from '../../app/route.ts'
import { toast } from '../../app/toasts.tsx'
import { describeError } from '../../api/errors.ts'
import { searchActions, type Action } from '../../api/people.ts'
import { may } from '../../api/session.ts'
import { formatDateTime } from '../../parts/format.ts'
import { Empty, Failed, Loading } from '../../parts/placeholders.tsx'
import { useResource } from '../../parts/resource.ts'
import { SearchField } from '../../parts/search-field.tsx'
import { TableWrap } from '../../parts/table.tsx'

const pageSize = 100

interface Found {
  readonly actions: readonly Action[]
  readonly next: number | null
}

const words = [
  ['by', 'Who'],
  ['action', 'Action'],
  ['target', 'What it changed'],
] as const

export function AuditPage(): JSX.Element {
  const { by = '', action = '', target = '' } = address.value.query
  const filter = {
    ...(by !== '' && { by }),
    ...(action !== '' && { action }),
    ...(target !== '' && { target }),
    limit: pageSize,
  }
  const mayRead = may('operator')
  const key = JSON.stringify(filter)
  const { value, error, reload } = useResource(
    async (signal): Promise<Found> => {
      if (!mayRead) return { actions: [], next: null }
      return searchActions(filter, signal)
    },
    [key, mayRead],
  )
  /** Pages behind the first one, of one filter. */
  const loaded = useSignal<(Found & { readonly key: string }) | undefined>(undefined)
  const older = loaded.value?.key === key ? loaded.value : undefined
  const isLoading = useSignal(false)
  const actions = [...(value?.actions ?? []), ...(older?.actions ?? [])]
  const next = older === undefined ? (value?.next ?? null) : older.next
  const more = async (before: number): Promise<void> => {
    isLoading.value = true
    try {
      const page = await searchActions({ ...filter, before })
      loaded.value = { key, actions: [...(older?.actions ?? []), ...page.actions], next: page.next }
    } catch (problem) {
      toast('bad', describeError(problem))
    } finally {
      isLoading.value = false
    }
  }
  useKeys(
    [
      {
        keys: 'f',
        label: 'Search actions',
        group: 'Audit',
        run: () => document.getElementById('audit-by')?.focus(),
      },
    ],
    [],
  )
  const isFiltered = by !== '' || action !== '' || target !== ''
  return (
    <main class="page" id="content" tabIndex={0}>
      <div class="page-head">
        <div>
          <h1>Audit</h1>
          <p>Who changed what, newest first.</p>
        </div>
      </div>
      {!mayRead ? (
        <Empty title="Only operators and admins see the log of actions" />
      ) : (
        <>
          <div class="row list-tools">
            {words.map(([word, title]) => (
              <SearchField
                key={word}
                id={`audit-${word}`}
                label={title}
                placeholder={title}
                value={address.value.query[word] ?? ''}
                onChange={(text) => setQuery({ [word]: text })}
              />
            ))}
          </div>
          {error !== undefined && <Failed error={error} onRetry={reload} />}
          {value === undefined ? (
            error === undefined && <Loading />
          ) : actions.length === 0 ? (
            <Empty title={isFiltered ? 'No action fits the filter' : 'Nothing was changed yet'}>
              {isFiltered && (
                <p>
                  <a href={link(['audit'])}>Show all actions</a>
                </p>
              )}
            </Empty>
          ) : (
            <ActionTable actions={actions} />
          )}
          {next !== null && (
            <div class="more">
              <button
                class="button"
                type="button"
                disabled={isLoading.value}
                onClick={() => void more(next)}
              >
                {isLoading.value ? 'Loading…' : 'Load more'}
              </button>
            </div>
          )}
        </>
      )}
    </main>
  )
}

function ActionTable({ actions }: { readonly actions: readonly Action[] }): JSX.Element {
  return (
    <TableWrap isCard>
      <table>
        <thead>
          <tr>
            <th>When</th>
            <th>Who</th>
            <th>Action</th>
            <th>What it changed</th>
            <th>Details</th>
            <th>From</th>
          </tr>
        </thead>
        <tbody>
          {actions.map((each) => (
            <tr key={each.id}>
              <td class="nowrap num soft">{formatDateTime(each.at)}</td>
              <td>
                <b>{each.by}</b>
              </td>
              <td>{each.action}</td>
              <td class="mono">
                <Target action={each} />
              </td>
              <td class="soft">{each.detail ?? ''}</td>
              <td class="mono quiet nowrap">{each.address}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableWrap>
  )
}

/** These actions concern a run, whose page shows their effects. */
const ofRuns = /^(?:run|signal|approval) /

function Target({ action: { action, target } }: { readonly action: Action }): JSX.Element {
  if (target === '') return <>–</>
  return ofRuns.test(action) && action !== 'run planned' ? (
    <a href={link(['runs', target])}>{target}</a>
  ) : (
    <>{target}</>
  )
}
