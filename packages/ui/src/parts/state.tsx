/** A state, as a mark with a shape of its own and its word. */
import type { JSX } from 'preact'
import { markOf } from './marks.ts'

function Mark({ state }: { readonly state: string }): JSX.Element {
  const { d, dash, isSpinning } = markOf(state)
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
      <path d={d} stroke-dasharray={dash?.join(' ')} class={isSpinning ? 'spin' : undefined} />
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
