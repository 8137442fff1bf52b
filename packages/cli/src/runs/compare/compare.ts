/** `heddle runs compare`: slower nodes, faster nodes, and other differences. */
import { compareRuns, isRegression, readRecord, type Side } from '@heddle/core/lowlevel'
import { exitCodes, type ExitCode } from '../../exit-codes.ts'
import { findNamedRun } from '../../journal/find-named-run.ts'
import { withJournal, type JournalCommandSettings } from '../with-journal.ts'
import { comparisonLines } from './comparison-view.ts'

export interface CompareSettings extends JournalCommandSettings {
  readonly a: string
  readonly b: string
  /** Percent by which the second may take longer; undefined: it may. */
  readonly failOnSlower: number | undefined
  readonly all: boolean
}

/** *Cancellation*: none; it reads the current state. */
export function showComparison(settings: CompareSettings): Promise<void> {
  return withJournal(settings, async (surface): Promise<ExitCode> => {
    const { journal, now } = surface
    const before = await findNamedRun(journal, settings.a)
    const after = await findNamedRun(journal, settings.b)
    const comparison = await compareRuns(
      await readRecord(journal, before.id, { now }),
      await readRecord(journal, after.id, { now }),
    )
    const { failOnSlower } = settings
    const isWorse = failOnSlower !== undefined && isRegression(comparison, failOnSlower)
    if (surface.json) {
      const { a, b, ...rest } = comparison
      surface.answer({ ok: !isWorse, a: sideRecord(a), b: sideRecord(b), ...rest })
    } else {
      surface.printLines(comparisonLines(comparison, settings.all, surface))
    }
    return isWorse ? exitCodes.failed : exitCodes.ok
  })
}

function sideRecord({ record, outcome, criticalPath }: Side): object {
  const { id, title, state, startedAt, endedAt, elapsed, counts } = record
  const { length, path } = criticalPath
  return {
    run: id,
    title,
    state,
    outcome,
    startedAt,
    endedAt,
    elapsed,
    counts,
    criticalPath: { length, path },
  }
}
