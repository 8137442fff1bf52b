/** How many nodes are in each state, as one line and as words. */
import type { JSX } from 'preact'
import { formatCount } from './format.ts'

const order = [
  'succeeded',
  'failed',
  'blocked',
  'cancelled',
  'skipped',
  'interrupted',
  'retrying',
  'suspended',
  'running',
  'ready',
  'waiting',
] as const

interface ShareProps {
  readonly counts: Readonly<Record<string, number | undefined>>
  readonly total: number
}

export function Share({ counts, total }: ShareProps): JSX.Element {
  const parts = order.filter((state) => (counts[state] ?? 0) > 0)
  const words = parts.map((state) => `${formatCount(counts[state]!)} ${state}`).join(', ')
  return (
    <div class="share-row" title={words}>
      <div class="share" aria-hidden="true">
        {parts.map((state) => (
          <i
            key={state}
            class={state}
            style={{ width: `${(counts[state]! / Math.max(1, total)) * 100}%` }}
          />
        ))}
      </div>
      <span class="num quiet">
        {formatCount(counts['succeeded'] ?? 0)}/{formatCount(total)}
        <span class="sr"> succeeded; {words}</span>
      </span>
    </div>
  )
}
