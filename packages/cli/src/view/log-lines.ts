import type { RunModel } from '../model/run-model.ts'
import { span, type Line } from '../text/line.ts'

/** The last things jobs said: at most `room` lines. */
export function logLines(model: RunModel, room: number): Line[] {
  const lines: Line[] = []
  for (const { name, lines: said } of model.log.last(room).toReversed()) {
    for (const text of said.toReversed()) {
      if (lines.length >= room) return lines.reverse()
      lines.push([span(`${name}: `, 'dim'), span(text)])
    }
  }
  if (lines.length === 0 && room > 0) return [[span('  no job has logged anything yet', 'dim')]]
  return lines.reverse()
}
