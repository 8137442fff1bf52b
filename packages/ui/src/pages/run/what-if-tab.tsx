/** The duration of the run with another concurrency, simulated with its own durations. */
import type { JSX } from 'preact'
import { address, setQuery } from '../../app/address.ts'
import { forecastRun } from '../../api/runs.ts'
import { formatDuration, formatPercent, plural } from '../../parts/format.ts'
import { Failed, Loading } from '../../parts/placeholders.tsx'
import { useResource } from '../../parts/resource.ts'
import type { RunView } from './run-view.ts'

const suggested = [1, 2, 4, 8, 16, 32, 64, 128]

export function WhatIfTab({ view }: { readonly view: RunView }): JSX.Element {
  const chosen = Math.max(
    1,
    Math.min(1_000_000, Math.round(Number(address.value.query['concurrency'] ?? 8)) || 8),
  )
  const tried = [...new Set([...suggested, chosen])].sort((a, b) => a - b)
  const { value, error, reload } = useResource(
    async (signal) => {
      const forecasts = []
      for (const concurrency of tried)
        forecasts.push({ concurrency, ...(await forecastRun(view.store.id, concurrency, signal)) })
      return forecasts
    },
    [chosen],
  )
  const own = value?.find((each) => each.concurrency === chosen)
  const longest = Math.max(1, ...(value ?? []).map((each) => each.duration_ms))
  return (
    <div class="tab-page stack">
      <form class="row" onSubmit={(event) => event.preventDefault()}>
        <label class="row">
          With a concurrency of
          <input
            class="input num short"
            type="number"
            min={1}
            max={1_000_000}
            value={chosen}
            onChange={(event) => setQuery({ concurrency: event.currentTarget.value })}
          />
        </label>
        {own !== undefined && (
          <p>
            this run would have taken <b class="num nowrap">{formatDuration(own.duration_ms)}</b>
            {own.recorded_ms > 0 && (
              <span class="soft num nowrap">
                {' '}
                instead of {formatDuration(own.recorded_ms)} (
                {own.duration_ms <= own.recorded_ms ? '−' : '+'}
                {formatPercent(Math.abs(1 - own.duration_ms / own.recorded_ms))})
              </span>
            )}
            .
          </p>
        )}
      </form>
      {error !== undefined && <Failed error={error} onRetry={reload} />}
      {value === undefined ? (
        error === undefined && <Loading />
      ) : (
        <section class="card">
          <header>
            <h2>Duration by concurrency</h2>
            <span class="quiet num">
              No concurrency makes it shorter than its critical path,{' '}
              {formatDuration(value[0]?.critical_path_ms ?? 0)}.
            </span>
          </header>
          <table class="by-concurrency">
            <tbody>
              {value.map(({ concurrency, duration_ms }) => (
                <tr key={concurrency} aria-selected={concurrency === chosen}>
                  <td class="right short">{plural(concurrency, 'attempt')} at once</td>
                  <td class="wide">
                    <div class="change-bar" aria-hidden="true">
                      <i
                        class={concurrency === chosen ? 'chosen' : ''}
                        style={{ width: `${(duration_ms / longest) * 100}%` }}
                      />
                    </div>
                  </td>
                  <td class="right">{formatDuration(duration_ms)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </div>
  )
}
