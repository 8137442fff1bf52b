/**
 * The live region: the picture in the terminal during a run.
 *
 * A pure function from the model to lines. Invariants, quoted by the tests:
 *  V1  No line is wider than the terminal.
 *  V2  There are never more lines than `tallest`, nor more than the terminal has rows, less one for the
 *      cursor.
 *  V3  The same model, choice and viewport give the same lines.
 */
import type { RunModel } from '../model/run-model.ts'
import { asleepLine, gapLine, helpLines, keysLine, noticeLine } from './footer.ts'
import { barLine, countsLine, titleLine } from './header.ts'
import { fit, type Line } from '../text/line.ts'
import { logLines } from './log-lines.ts'
import { nodeLines } from './rows.ts'
import type { UiState } from './ui-state.ts'
import type { Viewport } from './viewport.ts'

export const tallest = 30

export function frame(model: RunModel, ui: UiState, viewport: Viewport): Line[] {
  const height = Math.max(0, Math.min(tallest, viewport.rows - 1))
  const essential: Line[] = [barLine(model, viewport), countsLine(model, viewport)]
  const title = titleLine(model, viewport)
  const notices = [gapLine(viewport), noticeLine(viewport), asleepLine(model, viewport)].filter(
    (line) => line !== undefined,
  )
  const keys = viewport.keys ? [keysLine(model, ui, viewport.columns)] : []

  // A terminal of few rows keeps the lines that have no other command.
  const top = height >= 3 ? [title, ...essential] : essential
  const bottom = height >= 6 ? [...notices, ...keys] : []
  const room = Math.max(0, height - top.length - bottom.length)
  const lines = [...top, ...body(model, ui, viewport, room), ...bottom]
  return lines
    .slice(0, height)
    .map((line) => fit(line, viewport.columns, viewport.symbols.ellipsis))
}

function body(model: RunModel, ui: UiState, viewport: Viewport, room: number): Line[] {
  if (ui.help) return helpLines().slice(0, room)
  if (ui.view === 'log') return logLines(model, room)
  return nodeLines(model, ui, viewport, room)
}
