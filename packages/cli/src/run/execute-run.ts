/**
 * `heddle run` from the settings to the exit code.
 *
 *   loading ──▶ running ──▶ ended ──▶ exit
 *      │           │           └─ --ui in a terminal ──▶ shown until Ctrl+C ──▶ exit
 *      │           ├─ process.exit() or uncaught error of a job ──▶ exit, never with code 0
 *      └── could not start, or never ends ──▶ exit 2
 *
 * The process is ended when the run is: resources that a job has left open (a pool of connections, an abandoned
 * attempt) would keep it alive for ever.
 */
import {
  HeddleError,
  isError,
  openScope,
  startRun,
  type CriticalPath,
  type Graph,
  type GraphResult,
  type Run,
  type RunEvent,
} from '@heddle/core'
import {
  criticalPathOf,
  isHeld,
  LoopWatch,
  readRecord,
  systemKernel,
  timedNodes,
  type Journal,
  type JournalTrouble,
  type LoopGap,
} from '@heddle/core/lowlevel'
import { exitCodes } from '../exit-codes.ts'
import { errorRecord } from '../output/error-record.ts'
import { describeGap, shortenPaths } from '../output/gap.ts'
import { jsonResult } from '../output/json-reporter.ts'
import { Printer } from '../output/printer.ts'
import { errorLines } from '../output/report-error.ts'
import type { Reporter } from '../output/reporter.ts'
import { failedElements } from '../output/failed-elements.ts'
import { summaryLines } from '../output/run-summary.ts'
import { command, span, type Span } from '../text/line.ts'
import { Controls } from './controls.ts'
import type { RunDashboard } from './dashboard.ts'
import { helpFor, hintFor } from './hints.ts'
import { earlierDurations } from './earlier-durations.ts'
import { findNamedRun } from '../journal/find-named-run.ts'
import { openRunJournal } from '../journal/open-journal.ts'
import { loadGraph } from '../user-code/load-graph.ts'
import { resumeCommand } from './resume-command.ts'
import { needsJournal } from '../user-code/path-source.ts'
import { moduleOf } from './run-module.ts'
import { defaultLimits, titleOf, typedOf, type RunSettings } from './run-settings.ts'

/** Milliseconds of a reported loop gap, and between two samples of the loop. */
const gapThreshold = 50
const gapInterval = 10
/** Milliseconds that the watch of the loop has to start. */
const watchLimit = 5_000
/** Milliseconds that a reader has to take the last lines. */
const flushLimit = 2_000

/**
 * Runs a graph and ends the process.
 *
 * *Cancellation*: by keys and signals, see Controls.
 */
export async function executeRun(settings: RunSettings): Promise<void> {
  const session = new RunExecution(settings)
  await session.execute()
}

/** Says so when another process is at it: until it has ended there is nothing else to see. */
async function announceWait(journal: Journal, key: string, reporter: Reporter): Promise<void> {
  const [found] = await journal.runs({ key, limit: 1 })
  if (found === undefined || !isHeld(found.state)) return
  const { id, pid, host } = found
  reporter.notice(`waiting for run ${id} with the key "${key}", which pid ${pid} on ${host} runs`)
}

function announceTrouble(trouble: JournalTrouble | undefined, reporter: Reporter): void {
  if (trouble === undefined) reporter.notice('the journal can be written again: the run continues')
  else if (!trouble.isFinal) {
    reporter.notice(`paused until the journal can be written: ${trouble.error.message}`)
  }
}

/** Loaded when it is asked for: a run without it needs no server. */
async function openDashboard(journal: Journal, port: number | undefined): Promise<RunDashboard> {
  const { openRunDashboard } = await import('./dashboard.ts')
  return openRunDashboard(journal, port)
}

class RunExecution {
  readonly #settings: RunSettings
  readonly #clock = systemKernel.clock
  readonly #printer: Printer
  readonly #controls: Controls
  readonly #watch = new LoopWatch({ threshold: gapThreshold, interval: gapInterval })
  /** Starts and stops the watch during the run. */
  readonly #background = openScope({ name: 'heddle run' })
  #phase: 'loading' | 'running' | 'ended' = 'loading'
  /** Whether jobs run, or ran: gaps before that kept nothing waiting. */
  #hasStarted = false
  #reporter: Reporter | undefined
  /** Notices from before there was a reporter. */
  readonly #early: string[] = []
  #run: Run | undefined
  /** The whole graph of the module. */
  #graph: Graph | undefined
  #worstGap: LoopGap | undefined
  /** The critical path in the journal. */
  #recordedPath: CriticalPath | undefined
  /** Undefined until the summary is printed. */
  #shownPath: CriticalPath | undefined
  #title: string
  /** Where the run is recorded. */
  #journal: string | undefined
  /** Whether the process has to end without waiting for anything. */
  #isAsked = false
  /** Whether the process ends because everything that is left sleeps. */
  #isLeft = false

  constructor(settings: RunSettings) {
    this.#settings = settings
    this.#title = settings.title ?? titleOf(settings.file)
    this.#printer = new Printer(settings, this.#clock)
    this.#controls = new Controls({
      clock: this.#clock,
      exit: (code) => {
        this.#isAsked = true
        process.exit(code)
      },
      leave: () => this.#leave(),
      // The time in which the process was stopped is not a gap of its loop.
      onSuspend: () => this.#background.launch(() => this.#watch.stop()),
      onContinue: () => this.#background.launch(() => this.#startWatch()),
    })
    process.on('exit', this.#onExit)
    process.on('beforeExit', this.#onIdle)
    process.on('uncaughtException', this.#onCrash)
  }

  async execute(): Promise<void> {
    let result: GraphResult
    try {
      result = await this.#runToEnd()
    } catch (error) {
      return this.#abandon(error)
    }
    await this.#conclude(result)
  }

  async #runToEnd(): Promise<GraphResult> {
    const { file, args, only, allowChanges, resume, ui, journalRetry: retryFor } = this.#settings
    const loaded = await loadGraph(file, args)
    this.#graph = loaded.graph
    const graph = only === undefined ? loaded.graph : loaded.graph.only(only)
    const {
      title,
      concurrency,
      retries,
      timeout,
      journal: where,
      journalRetry,
      ...options
    } = {
      ...defaultLimits,
      title: titleOf(file),
      ...loaded.options,
      ...typedOf(this.#settings),
    }
    this.#title = title
    this.#watch.onGap((gap) => this.#onGap(gap))
    const watching = this.#startWatch()
    await using journal = await openRunJournal(where, {
      ...journalRetry,
      ...(retryFor !== undefined && { for: retryFor }),
    })
    this.#journal = shortenPaths(journal.address)
    await using dashboard = ui === undefined ? undefined : await openDashboard(journal, ui.port)
    const durations = await earlierDurations(journal, title)
    const reporter = (this.#reporter = this.#printer.reporterFor({
      graph,
      title,
      concurrency,
      retries,
      durations,
      journal: this.#journal,
      clock: this.#clock,
    }))
    // The first job may be the one that blocks the loop.
    await watching
    for (const text of this.#early.splice(0)) reporter.notice(text)
    if (options.key !== undefined) await announceWait(journal, options.key, reporter)
    const run = await startRun(graph, {
      ...options,
      concurrency,
      retries,
      timeout,
      title,
      module: moduleOf(this.#settings),
      journal,
      allowChanges,
      ...(resume !== undefined && {
        resume: resume === true ? resume : (await findNamedRun(journal, resume)).id,
      }),
      onJournalTrouble: (trouble) => announceTrouble(trouble, reporter),
      observer: (event) => this.#observe(event, reporter),
    })
    this.#run = run
    reporter.started(run)
    const address = dashboard?.show(run)
    if (address !== undefined) this.#announceDashboard(address)
    if (run.isRecorded) {
      // The result was recorded earlier: there is nothing to show and nothing to control.
      this.#phase = 'ended'
      await this.#watch.stop()
      reporter.notice(`run ${run.id} had ended before: this is its recorded result`)
    } else {
      this.#controls.attach(run.scheduler, reporter)
      if (this.#printer.isLive) this.#controls.listen(process.stdin)
    }
    // Awaited here: the journal is closed behind it.
    const result = await this.#resultOf(run, journal)
    if (address !== undefined) await this.#stayOpen(result, address)
    return result
  }

  #announceDashboard(url: string): void {
    this.#printer.answer({ type: 'dashboard', url })
    if (this.#printer.isForPrograms) return
    this.#printer.printLines([[span('dashboard  ', 'dim'), span(url, 'cyan')]])
  }

  /** In a terminal the dashboard outlives its run, because the user asked for it. After a cancel it does not. */
  async #stayOpen(result: GraphResult, address: string): Promise<void> {
    const { isLive } = this.#printer
    if (!isLive || this.#controls.isAsked) return
    await this.#summarize(result)
    this.#printer.printLines([
      [],
      [span('dashboard  ', 'dim'), span(address, 'cyan'), span('   Ctrl+C ends it.', 'dim')],
    ])
    this.#controls[Symbol.dispose]()
    const asked = Promise.withResolvers<void>()
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
      process.on(signal, () => asked.resolve())
    }
    await asked.promise
  }

  /** The critical path is read from the journal, so that every view shows the same, also of a run that was resumed. */
  async #resultOf(run: Run, journal: Journal): Promise<GraphResult> {
    const result = await run.result
    if (needsJournal(run, result)) {
      const record = await readRecord(journal, run.id!, { now: this.#clock.wallTime() })
      this.#recordedPath = await criticalPathOf(timedNodes(record))
    }
    return result
  }

  /** The graph runs all the same when the watch cannot start. On a busy machine that takes longer, and it continues by itself. */
  async #startWatch(): Promise<void> {
    try {
      await this.#watch.start({ deadline: watchLimit })
    } catch (error) {
      if (isError(error, 'HDL_TIMEOUT')) return
      const cause = error instanceof Error ? error.message : String(error)
      const text = `the event loop is not watched, and gaps are not reported: ${cause}`
      if (this.#reporter === undefined) this.#early.push(text)
      else this.#reporter.notice(text)
    }
  }

  #observe(event: RunEvent, reporter: Reporter): void {
    if (event.type === 'start') {
      this.#phase = 'running'
      this.#hasStarted = true
      // A gap while a large graph was being read has kept nothing waiting.
      this.#watch.forget()
    }
    if (event.type === 'complete') {
      this.#background.launch(() => this.#watch.stop())
      this.#phase = 'ended'
    }
    reporter.observe(event)
  }

  #onGap(gap: LoopGap): void {
    // One that ended with the run is reported a few turns later, before the watch has stopped.
    if (!this.#hasStarted) return
    if (this.#worstGap === undefined || gap.ms > this.#worstGap.ms) this.#worstGap = gap
    this.#reporter?.gap(gap)
  }

  /** The terminal is as it was before the run. */
  #leaveTerminal(): void {
    this.#controls.unlisten()
    this.#reporter?.[Symbol.dispose]()
  }

  async #conclude(result: GraphResult): Promise<void> {
    const criticalPath = this.#shownPath ?? (await this.#summarize(result))
    this.#printer.answer(jsonResult(result, criticalPath))
    const isCancelled = result.state === 'cancelled'
    await this.#exit(
      isCancelled ? exitCodes.cancelled : result.ok ? exitCodes.ok : exitCodes.failed,
    )
  }

  /** For people: how the run ended, and the chain of jobs that decided how long it took. */
  async #summarize(result: GraphResult): Promise<CriticalPath> {
    this.#leaveTerminal()
    await this.#background.join()
    const { longest } = this.#watch.stats()
    const gap = this.#worstGap
    // For a short gap only the lateness of the next sample is known, not when the gap began.
    const longestGap = longest < gapInterval ? longest + gapInterval : longest
    const criticalPath = this.#recordedPath ?? (await this.#run!.scheduler.criticalPath())
    this.#printer.printLines(
      summaryLines({
        title: this.#title,
        result,
        criticalPath,
        longestGap: this.#run!.isRecorded ? undefined : longestGap,
        gap: gap && { ms: gap.ms, blame: describeGap(gap), byJob: gap.label !== undefined },
        journal: this.#journal,
        resume: result.ok ? undefined : this.#resumeCommand(),
        failedElements: failedElements(this.#graph!, result),
        symbols: this.#printer.symbols,
      }),
    )
    this.#shownPath = criticalPath
    return criticalPath
  }

  /** The run could not start, or could not be brought to an end. */
  async #abandon(error: unknown): Promise<void> {
    const code = this.#phase === 'loading' ? exitCodes.usage : exitCodes.failed
    this.#phase = 'ended'
    this.#leaveTerminal()
    this.#reportError(error)
    const hint = hintFor(error)
    if (hint !== undefined) this.#hint(span(hint))
    // A journal that is gone has no run to resume.
    if (code === exitCodes.failed && !isError(error, 'HDL_JOURNAL_GONE')) this.#hintResume()
    await this.#exit(code)
  }

  #reportError(error: unknown, context?: string): void {
    const { file, key } = this.#settings
    const help = helpFor(error, { file, key, graph: this.#graph })
    this.#printer.printErrorLines(errorLines(error, context, help))
    const run = this.#run?.id ?? null
    this.#printer.answer({ ok: false, type: 'result', run, error: errorRecord(error) })
  }

  #hint(...text: readonly Span[]): void {
    this.#printer.printErrorLines([[span('        '), ...text]])
  }

  async #exit(code: number): Promise<void> {
    process.exitCode = code
    const timer = this.#clock.setTimer(flushLimit, () => process.exit())
    await this.#printer.flush()
    timer.cancel()
    process.exit()
  }

  /** A run that sleeps for days must not be cancelled by a restart of the machine: the journal has it. */
  #leave(): boolean {
    if (this.#resumeCommand() === undefined) return false
    this.#isAsked = true
    this.#isLeft = true
    process.exit(exitCodes.terminated)
  }

  /** The process ends, for whatever reason: law 5 and the terminal are kept. */
  readonly #onExit = (code: number): void => {
    this.#leaveTerminal()
    this.#printer.drain()
    const phase = this.#phase
    this.#phase = 'ended'
    if (phase === 'loading' && !this.#isAsked) {
      process.exitCode = exitCodes.usage
      this.#reportError(this.#notLoaded(`it ended the process (process.exit) with code ${code}`))
    }
    if (phase === 'running') {
      if (code === 0) process.exitCode = exitCodes.failed
      const how = this.#isLeft
        ? 'the process ends, and the run is left as it is: all of it sleeps or waits for signals'
        : this.#isAsked
          ? 'ended at once, as requested, without waiting for running jobs'
          : 'the process was ended (process.exit) before the run was over'
      this.#reportError(how)
      this.#hintResume()
    }
    this.#printer.drain()
  }

  /** The event loop is empty before the run has ended: nothing can continue it. */
  readonly #onIdle = (): void => {
    const loading = 'its top level waits, and nothing is left on the event loop'
    const running = 'deadlock: every job is waiting and nothing is left on the event loop'
    if (this.#phase === 'ended') return
    // oxlint-disable-next-line typescript/no-floating-promises -- it ends the process
    this.#abandon(this.#phase === 'loading' ? this.#notLoaded(loading) : running)
  }

  #notLoaded(cause: string): HeddleError {
    const { file } = this.#settings
    return new HeddleError('HDL_LOAD_FAILED', { file, action: 'be loaded', cause })
  }

  readonly #onCrash = (error: unknown): void => {
    process.off('uncaughtException', this.#onCrash)
    this.#phase = 'ended'
    this.#leaveTerminal()
    this.#reportError(error, 'an error that no job has caught ended the run: ')
    this.#hintResume()
    // oxlint-disable-next-line typescript/no-floating-promises -- it ends the process
    this.#exit(exitCodes.failed)
  }

  #hintResume(): void {
    const words = this.#resumeCommand()
    if (words !== undefined) this.#hint(span('Resume with: '), command(words, 'bold'))
  }

  /** The command that resumes the run, if it can be resumed. */
  #resumeCommand(): string | undefined {
    if (this.#journal === undefined || this.#journal === 'memory') return undefined
    return resumeCommand(this.#run?.id, this.#settings)
  }
}
