/**
 * `heddle run` from the settings to the exit code.
 *
 *   loading ──▶ running ──▶ ended ──▶ exit
 *      │           ├─ process.exit() or uncaught error of a job ──▶ exit, never with code 0
 *      └── could not start, or never ends ──▶ exit 2
 *
 * The process is ended when the run is: what a job has left open (a pool of connections, an abandoned
 * attempt) would keep it alive for ever.
 */
import {
  HeddleError,
  isError,
  startRun,
  type GraphResult,
  type Run,
  type RunEvent,
} from '@heddle/core'
import { LoopWatch, systemKernel, type LoopGap } from '@heddle/core/lowlevel'
import { exitCodes } from '../exit-codes.ts'
import { errorRecord } from '../output/error-record.ts'
import { describeGap, shortenPaths } from '../output/gap.ts'
import { jsonResult } from '../output/json.ts'
import { Printer } from '../output/printer.ts'
import { errorLines } from '../output/report-error.ts'
import type { Reporter } from '../output/reporter.ts'
import { summaryLines } from '../output/summary.ts'
import { span } from '../view/line.ts'
import { Controls } from './controls.ts'
import { hintFor } from './hints.ts'
import { earlierDurations } from './history.ts'
import { openRunJournal } from './journal.ts'
import { loadGraph } from './load-graph.ts'
import { pickRun } from './pick-run.ts'
import { resumeCommand } from './resume-command.ts'
import { titleOf, type RunSettings } from './settings.ts'

/** Milliseconds of a loop gap that is worth telling, and between two looks at the loop. */
const gapThreshold = 50
const gapInterval = 10
/** Milliseconds that a reader has to take the last lines. */
const flushLimit = 2_000

/**
 * Runs a graph and ends the process.
 *
 * *Cancellation*: by keys and signals, see Controls.
 */
export async function executeRun(settings: RunSettings): Promise<void> {
  const session = new RunSession(settings)
  await session.execute()
}

class RunSession {
  readonly #settings: RunSettings
  readonly #clock = systemKernel.clock
  readonly #printer: Printer
  readonly #controls: Controls
  readonly #watch = new LoopWatch({ threshold: gapThreshold, interval: gapInterval })
  #phase: 'loading' | 'running' | 'ended' = 'loading'
  #reporter: Reporter | undefined
  #run: Run | undefined
  #worstGap: LoopGap | undefined
  /** Where the run is recorded. */
  #journal: string | undefined
  /** Whether somebody wants the process to end without waiting for anything. */
  #isAsked = false

  constructor(settings: RunSettings) {
    this.#settings = settings
    this.#printer = new Printer(settings, this.#clock)
    this.#controls = new Controls({
      clock: this.#clock,
      exit: (code) => {
        this.#isAsked = true
        process.exit(code)
      },
      // The time in which the process was stopped is no gap of its loop.
      onSuspend: () => void this.#watch.stop(),
      onContinue: () => void this.#watch.start(),
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

  get #title(): string {
    return this.#settings.title ?? titleOf(this.#settings.file)
  }

  async #runToEnd(): Promise<GraphResult> {
    const { file, args, concurrency, retries, timeout, allowChanges } = this.#settings
    const { resume } = this.#settings
    const title = this.#title
    const graph = await loadGraph(file, args)
    this.#watch.onGap((gap) => this.#onGap(gap))
    await using journal = await openRunJournal(this.#settings.journal)
    this.#journal = shortenPaths(journal.address)
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
    const run = await startRun(graph, {
      concurrency,
      retries,
      timeout,
      title,
      journal,
      allowChanges,
      ...(resume !== undefined && {
        resume: resume === true ? await pickRun(journal, title) : resume,
      }),
      observer: (event) => this.#observe(event, reporter),
    })
    this.#run = run
    reporter.started(run)
    this.#controls.attach(run.scheduler, reporter)
    if (this.#printer.isLive) this.#controls.listen(process.stdin)
    // Awaited here: the journal is closed behind it.
    return await run.result
  }

  #observe(event: RunEvent, reporter: Reporter): void {
    if (event.type === 'start') {
      this.#phase = 'running'
      // From here on: while a large graph is being read nothing else waits for the loop.
      void this.#watch.start()
    }
    if (event.type === 'complete') {
      void this.#watch.stop()
      this.#phase = 'ended'
    }
    reporter.observe(event)
  }

  #onGap(gap: LoopGap): void {
    if (this.#phase !== 'running') return
    if (this.#worstGap === undefined || gap.ms > this.#worstGap.ms) this.#worstGap = gap
    this.#reporter?.gap(gap)
  }

  /** The terminal is as it was before the run. */
  #leaveTerminal(): void {
    this.#controls.unlisten()
    this.#reporter?.[Symbol.dispose]()
  }

  async #conclude(result: GraphResult): Promise<void> {
    this.#leaveTerminal()
    const { longest } = this.#watch.stats()
    const gap = this.#worstGap
    // Of a short one it is known how late the next look was, not when it began.
    const longestGap = longest < gapInterval ? longest + gapInterval : longest
    const criticalPath = await this.#run!.scheduler.criticalPath()
    this.#printer.tell(
      summaryLines({
        title: this.#title,
        result,
        criticalPath,
        longestGap,
        gap: gap && { ms: gap.ms, blame: describeGap(gap), byJob: gap.label !== undefined },
        journal: this.#journal,
        resume: result.ok ? undefined : this.#resumeCommand(),
        symbols: this.#printer.symbols,
      }),
    )
    this.#printer.answer(jsonResult(result))
    const isCancelled = result.state === 'cancelled'
    await this.#exit(
      isCancelled ? exitCodes.cancelled : result.ok ? exitCodes.ok : exitCodes.failed,
    )
  }

  /** The run could not start, or could not be brought to an end. */
  async #abandon(error: unknown): Promise<void> {
    const code = this.#phase === 'loading' ? exitCodes.usage : exitCodes.failed
    this.#phase = 'ended'
    this.#leaveTerminal()
    this.#tellError(error)
    const hint = hintFor(error)
    if (hint !== undefined) this.#hint(hint)
    // A journal that is gone has no run to resume.
    if (code === exitCodes.failed && !isError(error, 'HDL_JOURNAL_GONE')) this.#hintResume()
    await this.#exit(code)
  }

  #tellError(error: unknown, context?: string): void {
    this.#printer.complain(errorLines(error, context))
    const run = this.#run?.id ?? null
    this.#printer.answer({ ok: false, type: 'result', run, error: errorRecord(error) })
  }

  #hint(text: string): void {
    this.#printer.complain([[span(`        ${text}`)]])
  }

  async #exit(code: number): Promise<void> {
    process.exitCode = code
    const timer = this.#clock.setTimer(flushLimit, () => process.exit())
    await this.#printer.flush()
    timer.cancel()
    process.exit()
  }

  /** The process ends, for whatever reason: law 5 and the terminal are kept. */
  readonly #onExit = (code: number): void => {
    this.#leaveTerminal()
    this.#printer.drain()
    const phase = this.#phase
    this.#phase = 'ended'
    if (phase === 'loading' && !this.#isAsked) {
      process.exitCode = exitCodes.usage
      this.#tellError(this.#notLoaded(`it ended the process (process.exit) with code ${code}`))
    }
    if (phase === 'running') {
      if (code === 0) process.exitCode = exitCodes.failed
      const how = this.#isAsked
        ? 'ended at once, as asked: what was running was not waited for'
        : 'the process was ended (process.exit) before the run was over'
      this.#tellError(how)
      this.#hintResume()
    }
    this.#printer.drain()
  }

  /** Nothing is left in this process that could go on. */
  readonly #onIdle = (): void => {
    const never = 'it waits for something that never happens'
    if (this.#phase === 'loading') void this.#abandon(this.#notLoaded(never))
    if (this.#phase === 'running') void this.#abandon(`the run cannot go on: ${never}`)
  }

  #notLoaded(cause: string): HeddleError {
    const { file } = this.#settings
    return new HeddleError('HDL_LOAD_FAILED', { file, action: 'be loaded', cause })
  }

  readonly #onCrash = (error: unknown): void => {
    process.off('uncaughtException', this.#onCrash)
    this.#phase = 'ended'
    this.#leaveTerminal()
    this.#tellError(error, 'an error that no job has caught ended the run: ')
    this.#hintResume()
    void this.#exit(exitCodes.failed)
  }

  #hintResume(): void {
    const command = this.#resumeCommand()
    if (command !== undefined) this.#hint(`Go on with: ${command}`)
  }

  /** What to type to go on with the run, if it can be gone on with. */
  #resumeCommand(): string | undefined {
    if (this.#journal === undefined || this.#settings.journal === 'memory') return undefined
    return resumeCommand(this.#run?.id, this.#settings)
  }
}
