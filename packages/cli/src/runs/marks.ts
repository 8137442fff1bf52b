import type { AttemptOutcome } from '@heddle/core/lowlevel'

/** What is drawn in a timeline, one column each. Told apart by shape: colour only repeats it. */
export interface Marks {
  readonly critical: string
  readonly queue: string
  readonly run: string
  readonly backoff: string
  /** A stretch in which nothing ran, shortened to one column. */
  readonly gap: string
  readonly tick: string
  /** At the end of an attempt that did not succeed. */
  readonly ends: Readonly<Record<Exclude<AttemptOutcome, 'succeeded'>, string>>
}

export const unicodeMarks: Marks = {
  critical: '◆',
  queue: '░',
  run: '█',
  backoff: '~',
  gap: '┊',
  tick: '╷',
  ends: { running: '▶', failed: '✗', cancelled: '⊗', interrupted: '!' },
}

export const asciiMarks: Marks = {
  critical: '*',
  queue: '.',
  run: '=',
  backoff: '~',
  gap: ':',
  tick: '|',
  ends: { running: '>', failed: 'x', cancelled: 'c', interrupted: '!' },
}
