/** The numbers under which states are stored. Appended to, never reordered: files outlive versions. */
import { HeddleError } from '../errors.ts'
import type { RunState } from '../scheduler/events.ts'
import type { NodeState } from '../scheduler/node.ts'
import type { JournaledState } from './journal.ts'

export const storedNodeStates: readonly NodeState[] = [
  'waiting',
  'ready',
  'running',
  'retrying',
  'succeeded',
  'failed',
  'blocked',
  'skipped',
  'cancelled',
  'suspended',
]

export const storedRunStates: readonly RunState[] = [
  'idle',
  'running',
  'paused',
  'draining',
  'finished',
  'cancelled',
]

function numbered<S extends string>(states: readonly S[]): Readonly<Record<S, number>> {
  return Object.fromEntries(states.map((state, code) => [state, code])) as Record<S, number>
}

const nodeStateCodes: Readonly<Record<NodeState, number>> = numbered(storedNodeStates)
const runStateCodes: Readonly<Record<RunState, number>> = numbered(storedRunStates)

/** Returns the number of a state. */
export function checkNodeState(state: NodeState): number {
  const code = nodeStateCodes[state] as number | undefined
  if (code !== undefined) return code
  const expected = storedNodeStates.join(', ')
  throw new HeddleError('HDL_BAD_OPTION', { option: 'state', value: state, expected })
}

/** Returns the number of a state. */
export function checkRunState(state: RunState): number {
  const code = runStateCodes[state] as number | undefined
  if (code !== undefined) return code
  const expected = storedRunStates.join(', ')
  throw new HeddleError('HDL_BAD_OPTION', { option: 'state', value: state, expected })
}

/** Whether the run has ended. */
export function isEnd(state: JournaledState): boolean {
  return state === 'finished' || state === 'cancelled'
}

/** Whether a process is running it. */
export function isHeld(state: JournaledState): boolean {
  return state !== 'interrupted' && !isEnd(state)
}

const reported = new Set<string>()

function reportOnce(what: string, instead: string): void {
  if (reported.has(what)) return
  reported.add(what)
  process.emitWarning(`The journal holds the unknown ${what}; it is read as ${instead}.`, {
    type: 'HeddleWarning',
    code: 'HDL_UNKNOWN_STATE',
  })
}

/** A node in a state that this version does not know has, as far as we can tell, not been run. */
export function nodeStateOf(code: unknown): NodeState {
  const state = storedNodeStates[code as number]
  if (state === undefined) reportOnce(`node state ${String(code)}`, 'waiting')
  return state ?? 'waiting'
}

export function runStateOf(code: unknown): RunState {
  const state = storedRunStates[code as number]
  if (state === undefined) reportOnce(`run state ${String(code)}`, 'running')
  return state ?? 'running'
}
