/** A state, as a mark with a shape of its own and its word. */
import type { JSX } from 'preact'

/** One drawing for each state: they differ without colour. */
const marks: Readonly<Record<string, JSX.Element>> = {
  waiting: <circle cx="6" cy="6" r="4" stroke-dasharray="2 2" />,
  idle: <circle cx="6" cy="6" r="4" stroke-dasharray="2 2" />,
  ready: <circle cx="6" cy="6" r="4" />,
  running: (
    <g class="spin">
      <path d="M6 2a4 4 0 1 1-4 4" />
    </g>
  ),
  draining: <path d="M2 6a4 4 0 0 1 8 0M6 6v4M4.2 8.3 6 10l1.8-1.7" />,
  paused: <path d="M4.3 3v6M7.7 3v6" />,
  retrying: <path d="M9.6 4.2A4 4 0 1 0 10 7M10 2.2v2.3H7.7" />,
  suspended: (
    <path d="M3.5 2h5M3.5 10h5M4 2c0 2.6 4 3 4 4s-4 1.4-4 4M8 2c0 2.6-4 3-4 4s4 1.4 4 4" />
  ),
  succeeded: <path d="m2.5 6.3 2.4 2.4 4.6-5.2" />,
  ok: <path d="m2.5 6.3 2.4 2.4 4.6-5.2" />,
  finished: <path d="m2.5 6.3 2.4 2.4 4.6-5.2" />,
  failed: <path d="m3 3 6 6M9 3 3 9" />,
  blocked: <path d="M2.6 6h6.8M6 2a4 4 0 1 1 0 8 4 4 0 0 1 0-8" />,
  skipped: <path d="M3 3.2 6 6 3 8.8M6.5 3.2l3 2.8-3 2.8" />,
  cancelled: <path d="M3.2 8.8 8.8 3.2M6 2a4 4 0 1 1 0 8 4 4 0 0 1 0-8" />,
  interrupted: <path d="M6.8 1.8 3.4 6.6h2.4l-.6 3.6 3.4-4.8H6.2z" />,
}

function Mark({ state }: { readonly state: string }): JSX.Element {
  return (
    <svg
      viewBox="0 0 12 12"
      fill="none"
      stroke="currentColor"
      stroke-width="1.6"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      {marks[state] ?? marks['waiting']}
    </svg>
  )
}

interface StateProps {
  readonly state: string
  /** Shown instead of the state's own word. */
  readonly text?: string
}

/** On its own ground. */
export function State({ state, text }: StateProps): JSX.Element {
  return (
    <span class={`state ${state}`}>
      <Mark state={state} />
      {text ?? state}
    </span>
  )
}

/** Without a ground: for rows. */
export function StateDot({ state, text }: StateProps): JSX.Element {
  return (
    <span class={`dot ${state}`}>
      <Mark state={state} />
      <span>{text ?? state}</span>
    </span>
  )
}
