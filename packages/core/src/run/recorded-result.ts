/** How a run ended, read from its journal: for callers that ask for a run which needs nothing done. */
import { HeddleError, describe } from '../errors.ts'
import type { Journal, NodeSnapshot, RunSnapshot } from '../journal/journal.ts'
import type { Clock } from '../kernel/clock.ts'
import { Slices } from '../kernel/slices.ts'
import { suggest } from '../kernel/suggest.ts'
import type { RunResult } from '../scheduler/result.ts'
import { fromErrorRecord } from './error-record.ts'

/**
 * The result of a run that has ended, as its process reported it: the same lists, values and errors.
 *
 * *Cancellation*: none; it reads the current state, and yields to I/O.
 */
export async function recordedResult(
  journal: Journal,
  run: RunSnapshot,
  clock: Clock,
): Promise<RunResult> {
  const values = new Map<string, unknown>()
  for await (const [node, value] of journal.results(run.id)) values.set(node, value)
  const nodes = new Map<string, NodeSnapshot>()
  const slices = new Slices(clock)
  const lists = { succeeded: [] as string[], skipped: [] as string[], cancelled: [] as string[] }
  const failed = new Map<string, unknown>()
  const blocked = new Map<string, string>()
  const errors = new Map<string, readonly unknown[]>()
  const ended = run.nodes.toSorted((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0))
  for (const node of ended) {
    const { name, state } = node
    nodes.set(name, node)
    const all = node.errors.map(fromErrorRecord)
    if (all.length > 0) errors.set(name, all)
    if (state === 'succeeded' || state === 'skipped' || state === 'cancelled')
      lists[state].push(name)
    else if (state === 'blocked') blocked.set(name, node.blockedBy ?? '')
    else failed.set(name, all.at(-1))
    if (slices.due) await slices.next()
  }
  const state = run.state === 'cancelled' ? 'cancelled' : 'finished'
  const isWhole = failed.size === 0 && blocked.size === 0 && lists.cancelled.length === 0
  const find = (name: string): NodeSnapshot => {
    const node = nodes.get(name)
    if (node !== undefined) return node
    throw new HeddleError('HDL_UNKNOWN_NODE', {
      node: name,
      suggestion: suggest(name, nodes.keys()),
    })
  }
  return {
    ok: state === 'finished' && isWhole,
    state,
    ...lists,
    failed,
    blocked,
    reused: [],
    errors,
    duration: run.elapsed ?? Math.max(0, (run.endedAt ?? run.startedAt) - run.startedAt),
    stateOf: (name) => find(name).state,
    valueOf: (name) => {
      const node = find(name)
      if (node.state === 'succeeded') return values.get(name)
      const cause = errors.get(node.blockedBy ?? name)?.at(-1)
      throw new HeddleError(
        'HDL_NO_RESULT',
        {
          node: name,
          state: node.state === 'blocked' ? `was blocked by "${node.blockedBy}"` : node.state,
          cause: cause === undefined ? undefined : describe(cause),
        },
        { cause },
      )
    },
  }
}
