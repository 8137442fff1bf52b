import { HeddleError } from '../errors.ts'
import { checkRunKey } from '../journal/check-rows.ts'
import { retryOf } from '../journal/write-retry.ts'
import {
  checkFlag,
  checkFunction,
  checkMethods,
  checkName,
  checkOptions,
  checkRecord,
  checkText,
  type OptionNames,
} from '../kernel/check.ts'
import { checkWait } from '../kernel/waiters.ts'
import type { Places } from '../places/find-place.ts'
import type { SchedulerOptions } from '../scheduler/scheduler.ts'
import { checkArtifacts, type ArtifactOptions } from './run-artifacts.ts'
import { checkThreads, type ThreadOptions } from './run-threads.ts'
import type { JournalOptions, RunModule } from './run-journal.ts'

export interface RunOptions
  extends Omit<SchedulerOptions, 'unknown' | 'allowCycles' | 'keepOpen'>, JournalOptions {
  /** Aborting it cancels the run at once. */
  readonly signal?: AbortSignal
  /** Milliseconds from its start after which the run is cancelled; 0 has passed already. No limit when absent. */
  readonly deadline?: number
  /** Other places than this process's loop and its shared thread pool. */
  readonly places?: Places
  /** Threads of its own instead of those that all runs of the process share: how many, and how much memory each may take. */
  readonly threads?: ThreadOptions
  /** Limits and place of artifacts that jobs write with `ctx.artifact()`. */
  readonly artifacts?: ArtifactOptions
  /** Words that are recorded with the run and listed with it, such as its command and its author. */
  readonly labels?: Readonly<Record<string, string>>
}

const optionNames = {
  concurrency: 1,
  retries: 1,
  retryBaseDelay: 1,
  timeout: 1,
  resources: 1,
  capacity: 1,
  aging: 1,
  cancelGrace: 1,
  abortGrace: 1,
  observer: 1,
  kernel: 1,
  journal: 1,
  key: 1,
  resume: 1,
  from: 1,
  allowChanges: 1,
  title: 1,
  module: 1,
  journalRetry: 1,
  onJournalTrouble: 1,
  recordInputs: 1,
  signal: 1,
  deadline: 1,
  places: 1,
  labels: 1,
  artifacts: 1,
  threads: 1,
} satisfies OptionNames<RunOptions>

const placeNames = { loop: 1, thread: 1, fleet: 1 } satisfies OptionNames<Places>

const moduleNames = { file: 1, args: 1 } satisfies OptionNames<RunModule>

/**
 * Checks the options that the scheduler does not check itself, before the journal has anything of the run. @throws
 * `HDL_BAD_OPTION`.
 */
export function checkRunOptions(options: RunOptions): void {
  checkOptions(options, optionNames)
  const { signal, deadline, places = {}, journal, resume = false, allowChanges, title } = options
  checkWait({ signal, deadline })
  checkOptions(places, placeNames, 'places')
  for (const [name, place] of Object.entries(places)) {
    if (place !== undefined) checkMethods(`places.${name}`, place, ['run'], 'a place')
  }
  if (journal !== undefined && typeof journal !== 'string') {
    const expected = "an address ('memory', 'sqlite:runs.db'), or a journal that is open"
    checkMethods('journal', journal, ['openRun', 'resumeRun'], expected)
  }
  if (typeof resume !== 'boolean' && typeof resume !== 'string') {
    const expected = 'the id of a run, or true for the last one'
    throw new HeddleError('HDL_BAD_OPTION', { option: 'resume', value: resume, expected })
  }
  if (options.key !== undefined) checkRunKey(options.key)
  if (options.from !== undefined) checkName('from', options.from)
  if (options.journalRetry !== undefined) retryOf(options.journalRetry)
  if (options.onJournalTrouble !== undefined) {
    checkFunction('onJournalTrouble', options.onJournalTrouble)
  }
  if (options.recordInputs !== undefined) checkFlag('recordInputs', options.recordInputs)
  if (allowChanges !== undefined) checkFlag('allowChanges', allowChanges)
  if (title !== undefined) checkText('title', title)
  if (options.module !== undefined) checkModule(options.module)
  if (options.artifacts !== undefined) checkArtifacts(options.artifacts)
  if (options.threads !== undefined) checkThreads(options.threads)
  if (options.labels !== undefined) {
    checkRecord('labels', options.labels, "an object of texts: { graph: 'nightly' }")
    for (const [name, text] of Object.entries(options.labels)) checkText(`labels.${name}`, text)
  }
}

function checkModule(module: RunModule): void {
  checkRecord('module', module, "an object: { file: '/work/build.ts', args: [] }")
  checkOptions(module, moduleNames, 'module')
  checkText('module.file', module.file)
  for (const [i, arg] of (module.args ?? []).entries()) checkText(`module.args[${i}]`, arg)
}
