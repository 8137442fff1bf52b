/** Streams of what happens: of one run, and of all of them. They continue when a server that ends is replaced. */
import { browserClock } from '../kernel/clock.ts'
import { events } from './client.ts'
import type { RunChange, RunsChange } from './contract.ts'

export type RunEvent =
  | { readonly kind: 'change'; readonly change: RunChange }
  | { readonly kind: 'reset' }
  | { readonly kind: 'beat' }

/** Milliseconds until a server that drains is asked again: by then another one may be in its place. */
const drainPause = 1_000

/** Whether the stream should be opened again: the server ends, the run does not. */
async function isToBeContinued(data: string, signal: AbortSignal): Promise<boolean> {
  const { reason } = JSON.parse(data) as { readonly reason?: string }
  if (reason !== 'draining') return false
  await new Promise<void>((resolve) => {
    const cancel = browserClock.setTimer(drainPause, resolve)
    signal.addEventListener('abort', () => (cancel(), resolve()), { once: true })
  })
  return !signal.aborted
}

/** Follows one run from after a position, until it has ended. */
export async function* followRun(
  id: string,
  after: number,
  signal: AbortSignal,
  onState: (state: 'open' | 'lost') => void,
): AsyncGenerator<RunEvent, void, undefined> {
  let last = after
  for (let isOver = false; !isOver;) {
    isOver = true
    const options = { params: { id }, lastEventId: String(last), signal, onState }
    for await (const { id: position, event, data } of events('GET /runs/:id/events', options)) {
      if (position !== '') last = Number(position)
      if (event === 'change') yield { kind: 'change', change: JSON.parse(data) as RunChange }
      else if (event === 'reset') yield { kind: 'reset' }
      else if (event === 'beat') yield { kind: 'beat' }
      else if (event === 'end') isOver = !(await isToBeContinued(data, signal))
    }
  }
}

/** Follows all runs, until the signal. Undefined: nothing has changed. */
export async function* followRuns(
  signal: AbortSignal,
  onState: (state: 'open' | 'lost') => void,
): AsyncGenerator<RunsChange | undefined, void, undefined> {
  for (let isOver = false; !isOver;) {
    isOver = true
    for await (const { event, data } of events('GET /runs/events', { signal, onState })) {
      if (event === 'runs') yield JSON.parse(data) as RunsChange
      else if (event === 'end') isOver = !(await isToBeContinued(data, signal))
      else yield undefined
    }
  }
}
