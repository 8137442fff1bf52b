/** What suspended jobs of a recorded run wait for. */
import type { NodeSnapshot } from '@heddle/core/lowlevel'
import { formatCount } from '../view/format.ts'
import { printable } from '../view/text.ts'
import { formatDateTime } from './times.ts'

const signalsShown = 5

/** `waits for the signal "approval" until 2026-11-21 02:33:55`. Empty when nothing is known. */
export function waitText({ waits = [] }: Pick<NodeSnapshot, 'waits'>): string {
  const ends = waits.flatMap(({ until }) => (until === undefined ? [] : [until]))
  const first = Math.min(...ends)
  const until = Number.isFinite(first) ? ` until ${formatDateTime(first)}` : ''
  const names = signalsOf([{ waits }])
  if (names.length === 0) return waits.length === 0 ? '' : `sleeps${until}`
  const word = names.length === 1 ? 'signal' : 'signals'
  return `waits for the ${word} ${listNames(names)}${until}`
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
