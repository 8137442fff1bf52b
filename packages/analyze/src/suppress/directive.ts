/**
 * The comment that accepts a finding:
 *
 *     // heddle-ignore H101 -- reason
 *     // heddle-ignore H101, H501 -- reason [until=2027-01-01]
 *
 * A reason is not a courtesy: without one the comment does nothing, and is reported itself.
 */

export interface Directive {
  readonly rules: readonly string[]
  /** Empty when there is none. */
  readonly reason: string
  /** `2027-01-01`: the last day on which it holds, by UTC. */
  readonly until?: string
  /** `until=` is there, and is not a day. */
  readonly badUntil?: string
}

const opening = /^[\s*]*heddle-ignore(?![\w-])/
const until = /\[\s*until\s*=\s*([^\]]*?)\s*\]/

/** The directive of a comment, given without its `//` or `/*`; undefined when it is another comment. */
export function parseDirective(comment: string): Directive | undefined {
  const start = opening.exec(comment)
  if (start === null) return undefined
  const text = comment.slice(start[0].length).replace(/\s+/g, ' ')
  const dashes = text.search(/--/)
  const before = dashes < 0 ? text : text.slice(0, dashes)
  const after = dashes < 0 ? '' : text.slice(dashes).replace(/^-+/, '')
  const day = until.exec(text)?.[1]
  return {
    rules: before
      .replace(until, ' ')
      .split(/[\s,]+/)
      .filter((word) => word !== ''),
    reason: after.replace(until, ' ').replace(/\s+/g, ' ').trim(),
    ...(day !== undefined && (isDay(day) ? { until: day } : { badUntil: day })),
  }
}

function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false
  const date = new Date(`${text}T00:00:00Z`)
  // 2026-02-30 is read as the second of March.
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text)
}

/** Whether the day is over by UTC. */
export function isExpired(day: string, today: string): boolean {
  return today > day
}
