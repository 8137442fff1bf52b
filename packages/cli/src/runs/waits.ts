/** The waits of suspended jobs in a recorded run. */
import type { NodeSnapshot } from '@heddle/core/lowlevel'
import { formatCount } from '../text/format.ts'
import { printable } from '../text/terminal-text.ts'
import { formatDateTime } from '../text/times.ts'

const signalsShown = 5

/** `waits for the signal "approval" until 2026-11-21 02:33:55, sleeps until 2026-11-20 00:00:00`. Empty when nothing is known. */
export function waitText({ waits = [] }: Pick<NodeSnapshot, 'waits'>): string {
  const names = signalsOf([{ waits }])
  const word = names.length === 1 ? 'signal' : 'signals'
  const sleeps = waits.filter(({ signal }) => signal === undefined)
  const signals = waits.filter(({ signal }) => signal !== undefined)
  return [
    ...(signals.length > 0 ? [`waits for the ${word} ${listNames(names)}${endText(signals)}`] : []),
    ...(sleeps.length > 0 ? [`sleeps${endText(sleeps)}`] : []),
  ].join(', ')
}

/** The first of the times at which they end. */
function endText(waits: readonly { readonly until?: number }[]): string {
  const first = Math.min(...waits.map(({ until = Infinity }) => until))
  return Number.isFinite(first) ? ` until ${formatDateTime(first)}` : ''
}

/** The signals that any of these nodes waits for, each once. */
export function signalsOf(nodes: readonly Pick<NodeSnapshot, 'waits'>[]): string[] {
  const names = new Set<string>()
  for (const { waits = [] } of nodes) {
    for (const { signal } of waits) if (signal !== undefined) names.add(signal)
  }
  return [...names]
}

/** `"a", "b" and 3 more`. */
export function listNames(names: readonly string[]): string {
  const shown = names.slice(0, signalsShown).map((name) => `"${printable(name)}"`)
  const more = names.length - shown.length
  return shown.join(', ') + (more > 0 ? ` and ${formatCount(more)} more` : '')
}
