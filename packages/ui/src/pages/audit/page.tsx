/** The log of actions: who changed what, from where. Filters are in the address. */
import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { useKeys } from '../../app/actions.ts'
import { address, setQuery } from '../../app/address.ts'
import { link } from '../../app/route.ts'
import { searchActions, type Action } from '../../api/people.ts'
import { may } from '../../api/session.ts'
import { browserClock } from '../../kernel/clock.ts'
import { formatDateTime } from '../../parts/format.ts'
import { icons } from '../../parts/icons.tsx'
import { Empty, Failed, Loading } from '../../parts/placeholders.tsx'
import { TableWrap } from '../../parts/table-wrap.tsx'

/** Milliseconds after the last letter before the server is asked. */
const typingPause = 200
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
  const found = useSignal<Found | undefined>(undefined)
  const error = useSignal<unknown>(undefined)
  const isLoading = useSignal(false)
  const load = async (signal: AbortSignal | undefined, before?: number): Promise<void> => {
    isLoading.value = true
    try {
      const query = {
        ...(by !== '' && { by }),
        ...(action !== '' && { action }),
        ...(target !== '' && { target }),
        ...(before !== undefined && { before }),
        limit: pageSize,
      }
      const page = await searchActions(query, signal)
      const known = before === undefined ? [] : (found.peek()?.actions ?? [])
      found.value = { actions: [...known, ...page.actions], next: page.next }
      error.value = undefined
    } catch (problem) {
      if (signal?.aborted !== true) error.value = problem
    } finally {
      isLoading.value = false
    }
  }
  useEffect(() => {
    if (!may('operator')) return undefined
    const abort = new AbortController()
    void load(abort.signal)
    return () => abort.abort()
  }, [by, action, target, may('operator')])
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
      {!may('operator') ? (
        <Empty title="Only operators and admins see the log of actions" />
      ) : (
        <>
          <div class="row list-tools">
            {words.map(([word, title]) => (
              <FilterBox key={word} word={word} title={title} />
            ))}
          </div>
          {error.value !== undefined && (
            <Failed error={error.value} onRetry={() => void load(undefined)} />
          )}
          {found.value === undefined ? (
            error.value === undefined && <Loading />
          ) : found.value.actions.length === 0 ? (
            <Empty title={isFiltered ? 'No action fits the filter' : 'Nothing was changed yet'}>
              {isFiltered && (
                <p>
                  <a href={link(['audit'])}>Show all actions</a>
                </p>
              )}
            </Empty>
          ) : (
            <ActionTable actions={found.value.actions} />
          )}
          {found.value !== undefined && found.value.next !== null && (
            <div class="more">
              <button
                class="button"
                type="button"
                disabled={isLoading.value}
                onClick={() => void load(undefined, found.peek()!.next!)}
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

function FilterBox({
  word,
  title,
}: {
  readonly word: string
  readonly title: string
}): JSX.Element {
  const cancel = useRef<() => void>(() => {})
  return (
    <label class="search">
      {icons.search}
      <span class="sr">{title}</span>
      <input
        id={`audit-${word}`}
        class="input"
        type="search"
        placeholder={title}
        value={address.value.query[word] ?? ''}
        onInput={(event) => {
          const text = event.currentTarget.value
          cancel.current()
          cancel.current = browserClock.setTimer(typingPause, () => setQuery({ [word]: text }))
        }}
      />
    </label>
  )
}
