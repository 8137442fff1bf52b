/** One drawing for each state, on a 12 × 12 grid: states differ without colour, in the page and on a canvas. */

interface Mark {
  /** Path of SVG. */
  readonly d: string
  readonly dash?: readonly number[]
  readonly isSpinning?: boolean
}

const circle = 'M6 2a4 4 0 1 1 0 8 4 4 0 0 1 0-8'
const tick = 'm2.5 6.3 2.4 2.4 4.6-5.2'
const dotted: Mark = { d: circle, dash: [2, 2] }

const marks: Readonly<Record<string, Mark>> = {
  waiting: dotted,
  idle: dotted,
  ready: { d: circle },
  running: { d: 'M6 2a4 4 0 1 1-4 4', isSpinning: true },
  draining: { d: 'M2 6a4 4 0 0 1 8 0M6 6v4M4.2 8.3 6 10l1.8-1.7' },
  paused: { d: 'M4.3 3v6M7.7 3v6' },
  retrying: { d: 'M9.6 4.2A4 4 0 1 0 10 7M10 2.2v2.3H7.7' },
  suspended: { d: 'M3.5 2h5M3.5 10h5M4 2c0 2.6 4 3 4 4s-4 1.4-4 4M8 2c0 2.6-4 3-4 4s4 1.4 4 4' },
  succeeded: { d: tick },
  ok: { d: tick },
  finished: { d: tick },
  warning: { d: 'M6 2v4.6M6 9.4v.1' },
  failed: { d: 'm3 3 6 6M9 3 3 9' },
  blocked: { d: `M2.6 6h6.8${circle}` },
  skipped: { d: 'M3 3.2 6 6 3 8.8M6.5 3.2l3 2.8-3 2.8' },
  cancelled: { d: `M3.2 8.8 8.8 3.2${circle}` },
  interrupted: { d: 'M6.8 1.8 3.4 6.6h2.4l-.6 3.6 3.4-4.8H6.2z' },
}

export function markOf(state: string): Mark {
  return marks[state] ?? dotted
}
