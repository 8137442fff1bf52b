/** The selected moment of the run: a slider from its start to now. */
import type { JSX } from 'preact'
import { formatDuration, formatTime } from '../../parts/format.ts'
import { icons } from '../../parts/icons.tsx'
import type { RunView } from './run-view.ts'

/** The slider has this many steps: finer than its pixels. */
const steps = 2_000

export function Scrubber({ view }: { readonly view: RunView }): JSX.Element {
  void view.store.version.value
  const at = view.at.value
  const length = Math.max(1, view.now)
  const moment = at ?? length
  const start = view.store.head.value?.started_at ?? 0
  return (
    <div class="scrubber">
      <label class="sr" for="moment">
        Moment of the run
      </label>
      <input
        id="moment"
        type="range"
        min={0}
        max={steps}
        step={1}
        value={Math.round((moment / length) * steps)}
        aria-valuetext={`${formatDuration(moment)} after the start`}
        onInput={(event) => {
          const value = Number(event.currentTarget.value)
          view.lookAt(value >= steps ? undefined : (value / steps) * length)
        }}
      />
      <span class="num nowrap moment">
        {at === undefined ? (
          <span class="quiet">{view.store.isLive ? 'now' : 'end of the run'}</span>
        ) : (
          <>
            {formatDuration(moment)} <span class="quiet">{formatTime(start + moment, start)}</span>
          </>
        )}
      </span>
      <button
        class="button small"
        type="button"
        disabled={at === undefined}
        onClick={() => view.lookAt(undefined)}
      >
        {icons.play} {view.store.isLive ? 'Back to now' : 'To the end'}
      </button>
    </div>
  )
}
