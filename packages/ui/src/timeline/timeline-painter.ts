/**
 * Draws the rows of a timeline on a canvas. Only visible rows are read, and a row costs at most as many
 * rectangles as it has pixels.
 */
import { attemptOutcomes } from '../api/contract.ts'
import type { BarTable } from '../model/run-store.ts'
import { CoverRow, PixelRow } from './bins.ts'
import type { Rows } from './lanes.ts'
import type { TimeScale } from './scale.ts'

export interface Picture {
  readonly bars: BarTable
  readonly rows: Rows
  readonly scale: TimeScale
  /** Shown milliseconds at the left and the right edge. */
  readonly from: number
  readonly to: number
  /** Pixels. */
  readonly width: number
  readonly firstRow: number
  readonly rowCount: number
  readonly rowHeight: number
  /** Pixels by which the first row is scrolled out at the top. */
  readonly offset: number
  /** Running attempts reach to here. */
  readonly now: number
  /** Slack of each node; 0: on the critical path. */
  readonly slack: ArrayLike<number>
  readonly selectedNode: number
}

export interface BarColours {
  readonly succeeded: string
  readonly failed: string
  readonly cancelled: string
  readonly interrupted: string
  readonly running: string
  readonly suspended: string
  readonly wait: string
  readonly critical: string
  readonly selected: string
}

/** A higher weight covers a lower one in the same pixel: a failure is never hidden. */
const weights: Readonly<Record<(typeof attemptOutcomes)[number], number>> = {
  succeeded: 1,
  cancelled: 2,
  interrupted: 3,
  running: 4,
  failed: 5,
}
const weightOf = attemptOutcomes.map((outcome) => weights[outcome])

export function paintBars(
  context: CanvasRenderingContext2D,
  picture: Picture,
  colours: BarColours,
): void {
  const { bars, rows, scale, width, rowHeight, slack } = picture
  const byWeight = [
    '',
    colours.succeeded,
    colours.cancelled,
    colours.interrupted,
    colours.running,
    colours.failed,
  ]
  const pixelsPerShown = width / Math.max(1e-9, picture.to - picture.from)
  const x = (time: number): number => (scale.toShown(time) - picture.from) * pixelsPerShown
  const fromTime = scale.toTime(picture.from)
  const toTime = scale.toTime(picture.to)
  const filled = new PixelRow(width)
  const waited = new CoverRow(width)
  const critical = new CoverRow(width)
  const suspended = new CoverRow(width)
  const suspendedOf = Map.groupBy(bars.suspended, ([bar]) => bar)
  const barHeight = Math.max(2, Math.round(rowHeight * 0.56))
  const barTop = Math.round((rowHeight - barHeight) / 2)
  for (
    let row = picture.firstRow;
    row < Math.min(rows.count, picture.firstRow + picture.rowCount);
    row++
  ) {
    const top = (row - picture.firstRow) * rowHeight - picture.offset
    filled.clear()
    waited.clear()
    critical.clear()
    suspended.clear()
    let hasSuspended = false
    const chosen: number[] = []
    rows.visible(row, fromTime, toTime, (bar) => {
      const outcome = bars.outcome[bar]!
      const end = outcome === 0 ? picture.now : bars.ended[bar]!
      const left = x(bars.started[bar]!)
      // A pixel between neighbours, where there is room for one.
      const edge = x(end)
      const right = edge - left > 4 ? Math.floor(edge) - 1 : edge
      filled.add(left, Math.max(right, left + 1), weightOf[outcome]!)
      if (bars.queued[bar]! < bars.started[bar]!) waited.add(x(bars.queued[bar]!), left)
      const node = bars.node[bar]!
      if (slack[node] === 0) critical.add(left, Math.max(right, left + 1))
      if (node === picture.selectedNode) chosen.push(left, right)
      for (const [, from, to] of suspendedOf.get(bar) ?? []) {
        suspended.add(x(from), x(to))
        hasSuspended = true
      }
    })
    context.fillStyle = colours.wait
    waited.spans((from, to) => context.fillRect(from, top + rowHeight / 2 - 1, to - from, 2))
    filled.spans((from, to, colour) => {
      context.fillStyle = byWeight[colour]!
      context.fillRect(from, top + barTop, to - from, barHeight)
    })
    if (hasSuspended) {
      context.fillStyle = colours.suspended
      suspended.spans((from, to) => context.fillRect(from, top + barTop, to - from, barHeight))
    }
    context.fillStyle = colours.critical
    critical.spans((from, to) => context.fillRect(from, top + barTop + barHeight + 1, to - from, 2))
    if (chosen.length > 0) {
      context.strokeStyle = colours.selected
      context.lineWidth = 2
      for (let i = 0; i < chosen.length; i += 2) {
        context.strokeRect(
          chosen[i]! - 1,
          top + barTop - 2,
          Math.max(2, chosen[i + 1]! - chosen[i]!) + 2,
          barHeight + 4,
        )
      }
    }
  }
}
