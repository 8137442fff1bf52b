/** `heddle runs prune`: removes old runs. Without `--yes` it only says which. */
import { HeddleError } from '@heddle/core'
import { outcomeOf, type PruneOptions, type PruneReport } from '@heddle/core/lowlevel'
import { exitCodes, type ExitCode } from '../exit-codes.ts'
import { formatBytes, plural } from '../text/format.ts'
import { span, type Line } from '../text/line.ts'
import { listLines } from './list.ts'
import { withJournal, type JournalCommandSettings, type Surface } from './with-journal.ts'

export interface PruneSettings extends JournalCommandSettings {
  /** Milliseconds. */
  readonly olderThan: number | undefined
  readonly keep: number | undefined
  readonly maxSize: number | undefined
  readonly interrupted: boolean
  readonly yes: boolean
}

/** Runs that are listed before they are only counted. */
const listedRuns = 20

/** *Cancellation*: none; runs removed before the process ends stay removed. */
export function pruneRuns(settings: PruneSettings): Promise<void> {
  return withJournal(
    settings,
    async (surface): Promise<ExitCode> => {
      const { journal, now, json, address } = surface
      if (journal.prune === undefined) {
        const expected = 'a journal that can be pruned: sqlite:FILE or postgres://HOST/DATABASE'
        throw new HeddleError('HDL_BAD_OPTION', { option: 'journal', value: address, expected })
      }
      const report = await journal.prune(optionsOf(settings, now))
      if (json) {
        const runs = report.runs.map((run) => ({ ...run, outcome: outcomeOf(run) }))
        const { yes: removed } = settings
        const { bytes, outcomes } = report
        surface.answer({ ok: true, journal: address, removed, bytes, outcomes, runs })
      } else surface.printLines(pruneLines(report, settings.yes, surface))
      return exitCodes.ok
    },
    // A dry run takes no lock and needs no space on the disk.
    settings.yes ? 'write' : 'read',
  )
}

function optionsOf(settings: PruneSettings, now: number): PruneOptions {
  const { olderThan, keep, maxSize, interrupted, yes } = settings
  if (olderThan === undefined && keep === undefined && maxSize === undefined) {
    const expected = '--older-than AGE, --keep N or --max-size SIZE'
    throw new HeddleError('HDL_BAD_OPTION', { option: 'bound', value: undefined, expected })
  }
  return {
    ...(olderThan !== undefined && { before: now - olderThan }),
    ...(keep !== undefined && { keep }),
    ...(maxSize !== undefined && { maxBytes: maxSize }),
    interrupted,
    dryRun: !yes,
  }
}

function pruneLines(report: PruneReport, isDone: boolean, surface: Surface): Line[] {
  const { runs, bytes, outcomes } = report
  if (runs.length + outcomes === 0) {
    return [[span(`There is no run to remove in ${surface.address}.`)]]
  }
  const ofJobs = outcomes === 0 ? '' : `, and ${plural(outcomes, 'outcome')} of acknowledged jobs`
  const what = `${plural(runs.length, 'run')}, about ${formatBytes(bytes)}${ofJobs}`
  if (isDone) return [[span(`Removed ${what}.`)]]
  const more = runs.length > listedRuns
  const listed = listLines(runs.slice(0, listedRuns), { state: undefined, more: false }, surface)
  return [
    ...listed,
    ...(more ? [[span(`and ${runs.length - listedRuns} more`, 'dim')]] : []),
    [span(`Would remove ${what}. Nothing was removed: add --yes to remove them.`)],
  ]
}
