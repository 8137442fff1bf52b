/**
 * The stretch of the time axis that is seen, and how it moves.
 *
 * Invariants, quoted by the tests:
 *  W1  It never leaves the axis, and is never longer than it nor shorter than a millisecond.
 *  W2  Zooming keeps the moment under the pointer where it is, unless W1 forbids.
 *  W3  A window that shows everything keeps showing everything while the run grows.
 */
export interface TimeWindow {
  /** Shown milliseconds. */
  readonly from: number
  readonly to: number
}

const shortest = 1

export function whole(length: number): TimeWindow {
  return { from: 0, to: Math.max(shortest, length) }
}

function isWhole(window: TimeWindow, length: number): boolean {
  return window.from <= 0 && window.to >= length - 1e-6
}

/** `at`: where the pointer is, from 0 (left) to 1. A factor above 1 shows more. */
export function zoom(window: TimeWindow, length: number, factor: number, at: number): TimeWindow {
  const width = window.to - window.from
  const wanted = Math.min(Math.max(shortest, length), Math.max(shortest, width * factor))
  const fixed = window.from + width * at
  return clamp({ from: fixed - wanted * at, to: fixed + wanted * (1 - at) }, length)
}

export function pan(window: TimeWindow, length: number, by: number): TimeWindow {
  return clamp({ from: window.from + by, to: window.to + by }, length)
}

/** Moves the window so that a stretch is in it, with some room around. */
export function reveal(window: TimeWindow, length: number, from: number, to: number): TimeWindow {
  if (from >= window.from && to <= window.to) return window
  const width = window.to - window.from
  const wanted = Math.max(width, (to - from) * 1.5)
  const middle = (from + to) / 2
  return clamp({ from: middle - wanted / 2, to: middle + wanted / 2 }, length)
}

/** After the axis has grown (W3). */
export function follow(window: TimeWindow, before: number, length: number): TimeWindow {
  return isWhole(window, before) ? whole(length) : clamp(window, length)
}

function clamp({ from, to }: TimeWindow, length: number): TimeWindow {
  const end = Math.max(shortest, length)
  const width = Math.min(to - from, end)
  const start = Math.max(0, Math.min(from, end - width))
  return { from: start, to: start + width }
}
