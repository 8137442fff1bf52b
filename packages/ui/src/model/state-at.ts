/**
 * How every node stood at a moment of a run, from its times and its attempts: the view of the time scrubber.
 *
 * Invariants, quoted by the tests:
 *  P1  At the end of the run, or later, every node is in the state that the server says.
 *  P2  At a moment inside an attempt its node is running, or suspended where the attempt was.
 *  P3  Between two attempts a node is retrying; before the first it is ready from the moment it became so, and waiting
 *      before that.
 *  P4  Forward in time a node never returns from an end.
 */
import { stateCode } from '../api/contract.ts'

export interface NodeTimes {
  readonly count: number
  readonly state: ArrayLike<number>
  /** Milliseconds since the start of the run; negative: not yet. */
  readonly ready: ArrayLike<number>
  readonly started: ArrayLike<number>
  readonly ended: ArrayLike<number>
}

export interface AttemptTimes {
  readonly count: number
  readonly node: ArrayLike<number>
  readonly started: ArrayLike<number>
  readonly ended: ArrayLike<number>
  /** Index of `attemptOutcomes`: 0 is running. */
  readonly outcome: ArrayLike<number>
  /** [bar, from, to] */
  readonly suspended: readonly (readonly [number, number, number])[]
}

const isEnd = new Uint8Array(16)
for (const state of [
  'succeeded',
  'failed',
  'blocked',
  'skipped',
  'cancelled',
  'interrupted',
] as const) {
  isEnd[stateCode[state]] = 1
}

/** Writes the state of every node at `time` into `into`. `length`: the last moment that is known of the run. */
export function statesAt(
  nodes: NodeTimes,
  bars: AttemptTimes,
  time: number,
  length: number,
  into: Uint8Array,
): void {
  const { count, state, ready, ended } = nodes
  if (time >= length) {
    for (let node = 0; node < count; node++) into[node] = state[node]!
    return
  }
  for (let node = 0; node < count; node++) {
    const end = ended[node]!
    if (isEnd[state[node]!] === 1 && end >= 0 && end <= time) into[node] = state[node]!
    else if (isEnd[state[node]!] === 1 && end < 0) into[node] = stateCode.waiting
    else if (ready[node]! >= 0 && ready[node]! <= time) into[node] = stateCode.ready
    else into[node] = stateCode.waiting
  }
  for (let bar = 0; bar < bars.count; bar++) {
    const node = bars.node[bar]!
    if (node >= count || bars.started[bar]! > time) continue
    const isOver = isEnd[state[node]!] === 1 && ended[node]! >= 0 && ended[node]! <= time
    if (isOver) continue
    // Bars are in order of their start: the last one that has begun says how the node stands.
    const isOpen = bars.outcome[bar] === 0 || bars.ended[bar]! > time
    into[node] = isOpen ? stateCode.running : stateCode.retrying
  }
  for (const [bar, from, to] of bars.suspended) {
    const node = bars.node[bar]!
    if (from <= time && time < to && into[node] === stateCode.running)
      into[node] = stateCode.suspended
  }
}

/** How many nodes are in each state, by index of `nodeStates`. */
export function countStates(states: Uint8Array, count: number): number[] {
  const counts = Array.from({ length: 16 }, () => 0)
  for (let node = 0; node < count; node++) counts[states[node]!]!++
  return counts
}
