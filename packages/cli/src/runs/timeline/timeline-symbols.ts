import type { AttemptOutcome } from '@heddle/core/lowlevel'

/** What is drawn in a timeline, one column each. Distinguished by shape: colour only repeats it. */
export interface TimelineSymbols {
  readonly critical: string
  readonly queue: string
  readonly run: string
  readonly suspended: string
  readonly backoff: string
  /** A stretch in which nothing ran, shortened to one column. */
  readonly gap: string
  readonly tick: string
  /** The signs at the end of an attempt that did not succeed. */
  readonly ends: Readonly<Record<Exclude<AttemptOutcome, 'succeeded'>, string>>
}

export const unicodeTimelineSymbols: TimelineSymbols = {
  critical: '◆',
  queue: '░',
  run: '█',
  suspended: '┄',
  backoff: '~',
  gap: '┊',
  tick: '╷',
  ends: { running: '▶', failed: '✗', cancelled: '⊗', interrupted: '!' },
}

export const asciiTimelineSymbols: TimelineSymbols = {
  critical: '*',
  queue: '.',
  run: '=',
  suspended: '-',
  backoff: '~',
  gap: ':',
  tick: '|',
  ends: { running: '>', failed: 'x', cancelled: 'c', interrupted: '!' },
}
