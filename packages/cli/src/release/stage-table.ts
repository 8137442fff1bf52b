/** How long each stage of each package took, as a table for people. */
import type { PackageReport } from '@heddle/release'
import { formatDuration } from '../text/format.ts'
import { span, type Line } from '../text/line.ts'
import { printable } from '../text/terminal-text.ts'

/** Stages that take time of their own. */
const shown = ['build', 'pack', 'upload', 'visible', 'verify', 'smoke', 'tag', 'notes'] as const

/** Empty when no stage has run: everything was there already. Skipped packages have no row. */
export function stageTable(all: readonly PackageReport[]): Line[] {
  const packages = all.filter(
    ({ outcome, integrity }) => outcome !== 'already-published' || integrity !== undefined,
  )
  const columns = shown.filter((stage) => packages.some(({ stages }) => isSlow(stages[stage])))
  const rows = packages.filter(({ stages }) => columns.some((stage) => isSlow(stages[stage])))
  if (columns.length === 0) return []
  const width = Math.max(...rows.map(({ name }) => printable(name).length))
  const cells = rows.map(({ stages }) =>
    columns.map((stage) => (isSlow(stages[stage]) ? formatDuration(stages[stage]!) : '')),
  )
  const widths = columns.map((stage, index) =>
    Math.max(stage.length, ...cells.map((row) => row[index]!.length)),
  )
  const line = (first: string, row: readonly string[]): string =>
    [first.padEnd(width), ...row.map((cell, index) => cell.padStart(widths[index]!))]
      .join('  ')
      .trimEnd()
  return [
    [],
    [span(line('', columns), 'dim')],
    ...rows.map(({ name }, index): Line => [span(line(printable(name), cells[index]!))]),
  ]
}

/** Whether a duration is long enough to be shown. */
function isSlow(ms: number | undefined): boolean {
  return ms !== undefined && ms >= 1
}
