/** The live connection of this tab, with its switch. */
import type { JSX } from 'preact'
import { isRefused } from '../api/errors.ts'
import { browserClock } from '../kernel/clock.ts'
import { icons } from '../parts/icons.tsx'
import { formatTime } from '../parts/format.ts'
import { Live, type LiveState } from './live.ts'

export const live = new Live(browserClock, isRefused)

const words: Readonly<Record<LiveState, string>> = {
  off: '',
  connecting: 'Connecting',
  open: 'Live',
  lost: 'Connection lost, trying again',
  paused: 'Paused',
  ended: 'Complete',
}

export function LiveSwitch(): JSX.Element | null {
  const state = live.state.value
  if (state === 'off') return null
  const at = live.lastEventAt.value
  const age = at === undefined ? '' : `, as of ${formatTime(at, browserClock.wallTime())}`
  const isPaused = state === 'paused'
  return (
    <div class="row">
      <span class={`live ${state}`} role="status">
        <i aria-hidden="true" />
        {words[state]}
        <span class="hide-small">{isPaused || state === 'lost' ? age : ''}</span>
      </span>
      {state !== 'ended' && (
        <button
          class="button plain small"
          type="button"
          aria-pressed={isPaused}
          aria-label={isPaused ? 'Resume live updates' : 'Pause live updates'}
          onClick={() => (isPaused ? live.resume() : live.pause())}
        >
          {isPaused ? icons.play : icons.pause}
        </button>
      )}
    </div>
  )
}
