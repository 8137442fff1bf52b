/** Times of the past as people read them. */

const dateAndTime = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium' })

/** Local time: `2026-11-15 22:45:01`. */
export function formatDateTime(wallTime: number): string {
  return dateAndTime.format(wallTime)
}

const steps: readonly (readonly [ms: number, one: string, many: string])[] = [
  [86_400_000, 'day', 'days'],
  [3_600_000, 'h', 'h'],
  [60_000, 'min', 'min'],
  [1_000, 's', 's'],
]

/** `3 min ago`. A clock that was set back makes no negative times. */
export function formatAgo(ms: number): string {
  for (const [step, one, many] of steps) {
    const count = Math.floor(ms / step)
    if (count >= 1) return `${count} ${count === 1 ? one : many} ago`
  }
  return 'just now'
}
