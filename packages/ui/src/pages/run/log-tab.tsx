/** The log of a run's nodes: live, searched by the server, copied as text. */
import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { address, setQuery } from '../../app/address.ts'
import type { LogPage } from '../../api/contract.ts'
import { readLog } from '../../api/runs.ts'
import { browserClock } from '../../kernel/clock.ts'
import { Throttle } from '../../kernel/throttle.ts'
import { CopyButton } from '../../parts/copy.tsx'
import { formatTimeExactly, plural } from '../../parts/format.ts'
import { icons } from '../../parts/icons.tsx'
import { Empty, Failed, Loading } from '../../parts/placeholders.tsx'
import type { RunView } from './view.ts'

const interval = 700
const mostLines = 10_000
const shownLines = 2_000

export function LogTab({ view }: { readonly view: RunView }): JSX.Element {
  const q = address.value.query['log'] ?? ''
  const lines = useSignal<LogPage['lines'] | undefined>(undefined)
  const error = useSignal<unknown>(undefined)
  const refresh = useRef<Throttle | undefined>(undefined)
  const list = useRef<HTMLPreElement>(null)
  useEffect(() => {
    const abort = new AbortController()
    let after = 0
    lines.value = undefined
    const throttle = new Throttle(
      async () => {
        try {
          for (let page: LogPage | undefined; page === undefined || page.next !== null;) {
            page = await readLog(view.store.id, { ...(q !== '' && { q }), after }, abort.signal)
            after = page.next ?? page.position
            lines.value = [...(lines.peek() ?? []), ...page.lines].slice(-mostLines)
          }
          error.value = undefined
        } catch (problem) {
          if (!abort.signal.aborted) error.value = problem
        }
      },
      interval,
      browserClock,
    )
    refresh.current = throttle
    throttle.call()
    return () => {
      abort.abort()
      throttle.stop()
    }
  }, [q])
  const version = view.store.version.value
  // The change that ends the run counts too: the last lines come with it.
  const wasLive = useRef(view.store.isLive)
  useEffect(() => {
    const { isLive } = view.store
    if (isLive || wasLive.current) refresh.current?.call()
    wasLive.current = isLive
  }, [version])
  const found = lines.value
  useEffect(() => {
    // Stays at the end, unless the reader has scrolled up.
    const element = list.current
    if (element !== null && element.scrollHeight - element.scrollTop - element.clientHeight < 120)
      element.scrollTop = element.scrollHeight
  }, [found])
  return (
    <div class="log-tab">
      <div class="row tools">
        <label class="search">
          {icons.search}
          <span class="sr">Search the log</span>
          <input
            class="input"
            type="search"
            placeholder="Search the log"
            value={q}
            onInput={(event) => setQuery({ log: event.currentTarget.value })}
          />
        </label>
        <span class="grow" />
        {found !== undefined && <span class="quiet num">{plural(found.length, 'line')}</span>}
        <CopyButton
          text={(found ?? []).map((line) => `${line.node}: ${line.text}`).join('\n')}
          label="Copy the lines"
        />
      </div>
      {error.value !== undefined && (
        <Failed error={error.value} onRetry={() => refresh.current?.call()} />
      )}
      {found === undefined ? (
        error.value === undefined && <Loading />
      ) : found.length === 0 ? (
        <Empty title={q === '' ? 'Nothing has been logged' : 'No line contains that'}>
          {q === '' && <p>What a job writes with ctx.log(text) appears here.</p>}
        </Empty>
      ) : (
        <pre class="code log" ref={list} tabIndex={0} aria-label="Log of the run">
          {found.slice(-shownLines).map((line) => (
            <div key={line.position}>
              <time class="quiet">{formatTimeExactly(line.at)}</time>{' '}
              <button type="button" class="log-node" onClick={() => view.select(line.node)}>
                {line.node}
              </button>{' '}
              {line.text}
            </div>
          ))}
        </pre>
      )}
    </div>
  )
}
