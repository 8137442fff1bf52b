/** `heddle runs copy`: takes runs of one journal over into another. */
import { HeddleError } from '@heddle/core'
import {
  copyRuns as copy,
  isPostgresAddress,
  openJournal,
  type CopyReport,
} from '@heddle/core/lowlevel'
import { exitCodes, type ExitCode } from '../exit-codes.ts'
import { shortenPaths } from '../output/gap.ts'
import { Output } from '../output/output.ts'
import { formatBytes, formatDuration, plural } from '../text/format.ts'
import { span, type Line } from '../text/line.ts'
import { withJournal, type JournalCommandSettings } from './with-journal.ts'

export interface CopySettings extends Omit<JournalCommandSettings, 'journal'> {
  readonly from: string
  readonly to: string
}

/** Runs that are named before they are only counted. */
const namedRuns = 10

/** *Cancellation*: none; rows copied before the process ends stay, and the next copy continues after them. */
export function copyRuns({ from, to, ...settings }: CopySettings): Promise<void> {
  return withJournal({ ...settings, journal: from }, async (surface): Promise<ExitCode> => {
    const { json, address } = surface
    // Before it is opened: that would make the file.
    if (!isPostgresAddress(to)) {
      const expected = 'postgres://HOST/DATABASE: runs are copied to PostgreSQL only'
      throw new HeddleError('HDL_BAD_OPTION', { option: 'to', value: to, expected })
    }
    await using target = await openJournal(to)
    const err = new Output(process.stderr)
    const report = await copy(surface.journal, target, {
      onWait: ({ run, holder, milliseconds }) => {
        const by = `pid ${holder.pid} on ${holder.host}`
        err.line(
          `Waiting up to ${formatDuration(milliseconds)} for run ${run}: a copy that was cut off (${by}) still holds it.`,
        )
      },
    })
    const ok = report.different.length === 0 && report.unfinished.length === 0
    const shown = shortenPaths(target.address)
    if (json) surface.answer({ ok, from: address, to: shown, ...report })
    else surface.printLines(reportLines(report, address, shown))
    return ok ? exitCodes.ok : exitCodes.failed
  })
}

function reportLines(report: CopyReport, from: string, to: string): Line[] {
  const {
    copied,
    present,
    different,
    removed,
    running,
    unfinished,
    rows,
    results,
    artifacts,
    artifactBytes,
  } = report
  const what = `${plural(copied, 'run')} (${plural(rows, 'row')}, ${plural(results, 'result')})`
  const lines = [`Copied ${what} from ${from} to ${to}. The rows and results were counted there.`]
  if (artifacts > 0) {
    const size = formatBytes(artifactBytes)
    lines.push(`Copied ${plural(artifacts, 'artifact')}, ${size}, and compared their checksums.`)
  }
  if (present > 0) {
    lines.push(`${plural(present, 'run')} of it ${present === 1 ? 'was' : 'were'} there already.`)
  }
  if (removed.length > 0)
    lines.push(`Removed there before, and not copied again: ${named(removed)}.`)
  if (running.length > 0) lines.push(`Left out because they are running: ${named(running)}.`)
  if (unfinished.length > 0) {
    lines.push(
      `Not copied, because another process was copying them: ${named(unfinished)}. Call it again.`,
    )
  }
  if (different.length > 0) {
    lines.push(`There with another content, and not changed: ${named(different)}.`)
  }
  return lines.map((text) => [span(text)])
}

function named(ids: readonly string[]): string {
  const more = ids.length - namedRuns
  return ids.slice(0, namedRuns).join(', ') + (more > 0 ? ` and ${more} more` : '')
}
