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
import { HeddleError, startRun, type GraphResult, type Run, type RunEvent } from '@heddle/core'
import { LoopWatch, systemKernel, type LoopGap } from '@heddle/core/lowlevel'
import { exitCodes } from '../exit-codes.ts'
import { errorRecord } from '../output/error-record.ts'
import { describeGap, shortenPaths } from '../output/gap.ts'
import { JsonReporter, jsonResult } from '../output/json.ts'
import { LiveReporter } from '../output/live.ts'
import { Output, type OutputStream } from '../output/output.ts'
import { PlainReporter } from '../output/plain.ts'
import { errorLines } from '../output/report-error.ts'
import type { Reporter, RunPlan } from '../output/reporter.ts'
import { summaryLines } from '../output/summary.ts'
import { chooseView, type ViewChoice } from '../terminal/capabilities.ts'
import { beforeWrites, capture } from '../terminal/capture.ts'
import { formatError } from '../view/format.ts'
import { paint, type Line } from '../view/line.ts'
import { asciiSymbols, unicodeSymbols, type Symbols } from '../view/symbols.ts'
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
  readonly #choice: ViewChoice
  readonly #symbols: Symbols
  readonly #clock = systemKernel.clock
  readonly #controls: Controls
  readonly #watch = new LoopWatch({ threshold: gapThreshold, interval: gapInterval })
  readonly #out: Output
  readonly #err: Output
  #phase: 'loading' | 'running' | 'ended' = 'loading'
  #reporter: Reporter | undefined
  #run: Run | undefined
  #worstGap: LoopGap | undefined
  /** Where the run is recorded. */
  #journal: string | undefined

  constructor(settings: RunSettings) {
    this.#settings = settings
    this.#choice = chooseView(
      { env: process.env, platform: process.platform, isTerminal: process.stdout.isTTY },
      settings,
    )
    this.#symbols = this.#choice.unicode ? unicodeSymbols : asciiSymbols
    this.#err = new Output(process.stderr)
    this.#out = this.#openStdout()
    this.#controls = new Controls({
      clock: this.#clock,
      exit: (code) => {
        // Before the start there is nothing to be told of: it was asked for.
        if (this.#phase === 'loading') this.#phase = 'ended'
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

  #openStdout(): Output {
    const { stdout } = process
    switch (this.#choice.mode) {
      case 'live':
        return new Output(stdout)
      case 'plain': {
        const out = new Output(stdout, this.#clock)
        // What jobs print comes after the lines that were written before it.
        beforeWrites(stdout, out.drain)
        return out
      }
      case 'json': {
        // Standard output belongs to the events: what jobs print goes to the errors.
        const captured = capture(stdout, this.#err.write)
        const reserved: OutputStream = {
          write: (text, callback) => captured.write(text, callback),
          on: (event, listener) => stdout.on(event, listener),
        }
        return new Output(reserved, this.#clock)
      }
    }
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
    const reporter = (this.#reporter = this.#makeReporter({
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
    if (this.#choice.mode === 'live') this.#controls.listen(process.stdin)
    // Awaited here: the journal is closed behind it.
    return await run.result
  }

  #makeReporter(plan: RunPlan): Reporter {
    switch (this.#choice.mode) {
      case 'json':
        return new JsonReporter(this.#out, plan)
      case 'plain':
        return new PlainReporter(this.#out, plan)
      case 'live': {
        const { stdin, stdout, stderr } = process
        return new LiveReporter(plan, {
          terminal: stdout,
          errors: stderr.isTTY ? stderr : undefined,
          keys: stdin.isTTY,
          symbols: this.#symbols,
          onFailure: (error) =>
            this.#err.line(`heddle: the live view failed, the run goes on: ${formatError(error)}`),
        })
      }
    }
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
    this.#tell(
      summaryLines({
        title: this.#title,
        result,
        criticalPath,
        longestGap,
        gap: gap && { ms: gap.ms, blame: describeGap(gap), byJob: gap.label !== undefined },
        journal: this.#journal,
        resume: result.ok ? undefined : this.#resumeCommand(),
        symbols: this.#symbols,
      }),
    )
    if (this.#settings.json) this.#out.line(JSON.stringify(jsonResult(result)))
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
    if (hint !== undefined) this.#err.line(`        ${hint}`)
    if (code === exitCodes.failed) this.#hintResume()
    await this.#exit(code)
  }

  #tellError(error: unknown, context?: string): void {
    for (const line of errorLines(error, context)) this.#err.line(paint(line, this.#errColor))
    if (!this.#settings.json) return
    const run = this.#run?.id ?? null
    this.#out.line(JSON.stringify({ ok: false, type: 'result', run, error: errorRecord(error) }))
  }

  get #errColor(): boolean {
    return this.#choice.color && process.stderr.isTTY
  }

  /** For people: to the errors when the output is for programs. */
  #tell(lines: readonly Line[]): void {
    const { json } = this.#settings
    const out = json ? this.#err : this.#out
    for (const line of lines) out.line(paint(line, this.#choice.color))
  }

  async #exit(code: number): Promise<void> {
    process.exitCode = code
    const timer = this.#clock.setTimer(flushLimit, () => process.exit())
    await Promise.all([this.#out.flush(), this.#err.flush()])
    timer.cancel()
    process.exit()
  }

  /** The process ends, for whatever reason: law 5 and the terminal are kept. */
  readonly #onExit = (code: number): void => {
    this.#leaveTerminal()
    this.#out.drain()
    const phase = this.#phase
    this.#phase = 'ended'
    if (phase === 'loading') {
      process.exitCode = exitCodes.usage
      this.#tellError(this.#notLoaded(`it ended the process (process.exit) with code ${code}`))
    }
    if (phase === 'running') {
      if (code === 0) process.exitCode = exitCodes.failed
      this.#tellError('the process was ended (process.exit) before the run was over')
      this.#hintResume()
    }
    this.#out.drain()
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
    if (command !== undefined) this.#err.line(`        Go on with: ${command}`)
  }

  /** What to type to go on with the run, if it can be gone on with. */
  #resumeCommand(): string | undefined {
    if (this.#journal === undefined || this.#settings.journal === 'memory') return undefined
    return resumeCommand(this.#run?.id, this.#settings)
  }
}
