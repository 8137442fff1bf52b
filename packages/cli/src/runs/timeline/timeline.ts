/** `heddle runs timeline`: which jobs ran when, and which waited for which. */
import {
  criticalPathOf,
  idleStretches,
  outcomeOf,
  readRecord,
  timedNodes,
  timelineOf,
} from '@heddle/core/lowlevel'
import { formatDuration } from '../../text/format.ts'
import { fit, span } from '../../text/line.ts'
import { exitCodes, type ExitCode } from '../../exit-codes.ts'
import { findNamedRun } from '../../journal/find-named-run.ts'
import { withJournal, type JournalCommandSettings } from '../with-journal.ts'
import { titleLine } from '../show-view.ts'
import { timelineLines } from './timeline-view.ts'

export interface TimelineSettings extends JournalCommandSettings {
  readonly run: string
  readonly width: number | undefined
  readonly all: boolean
}

/** The width without a terminal. */
const plainWidth = 100

/** *Cancellation*: none; it reads the current state. */
export function showTimeline(settings: TimelineSettings): Promise<void> {
  return withJournal(settings, async (surface): Promise<ExitCode> => {
    const { journal, now } = surface
    const { id } = await findNamedRun(journal, settings.run)
    const record = await readRecord(journal, id, { now })
    const criticalPath = await criticalPathOf(timedNodes(record))
    const timeline = timelineOf(record, criticalPath)
    if (surface.json) {
      const { title, state, startedAt, elapsed } = record
      surface.answer({
        ok: true,
        run: id,
        title,
        state,
        outcome: outcomeOf(record),
        startedAt,
        elapsed,
        length: timeline.length,
        criticalPath: { length: criticalPath.length, path: criticalPath.path },
        idle: idleStretches(timeline),
        rows: timeline.rows,
        neverRan: timeline.idle.map(({ name }) => name),
      })
      return exitCodes.ok
    }
    const width = settings.width ?? surface.columns ?? plainWidth
    const title = titleLine({ record, criticalPath, isPast: false, surface })
    const more = `  ${formatDuration(record.elapsed)}  ${id}`
    surface.printLines([fit([...title, span(more, 'dim')], width, surface.symbols.ellipsis)], width)
    surface.printLines(
      timelineLines({ record, criticalPath, timeline, surface, width, all: settings.all }),
      width,
    )
    return exitCodes.ok
  })
}
