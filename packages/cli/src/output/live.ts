/**
 * The live view: keeps a model of the run and draws it, at most twelve times a second, less often on a slow
 * terminal, and only when something has changed. Logs of jobs, and their writes to standard output, become ordinary
 * lines above the live region.
 *
 *   shown ⇄ suspended (the process is stopped)
 *     └──────┴──dispose──▶ closed: the region is gone, the terminal as it was
 */
import type { Explanation, Run, RunEvent, Scheduler } from '@heddle/core'
import type { LoopGap, Timer } from '@heddle/core/lowlevel'
import { Estimate } from '../model/estimate.ts'
import { RunModel, type NodeRow } from '../model/run-model.ts'
import { capture, type Capture } from '../terminal/capture.ts'
import { Screen, painted, type ScreenOutput } from '../terminal/screen.ts'
import { formatDuration } from '../text/format.ts'
import { frame } from '../view/frame.ts'
import { paint, span, textOf } from '../text/line.ts'
import type { Symbols } from '../text/symbols.ts'
import { colorfulLines, printable, printableLines } from '../text/terminal-text.ts'
import { firstUi, pressKey, type UiState } from '../view/ui-state.ts'
import type { GapNotice, WaitingNotice } from '../view/viewport.ts'
import { describeGap } from './gap.ts'
import type { Reporter, RunPlan } from './reporter.ts'
import { suspendedText } from './suspended-text.ts'
import { suspendedRows, suspendedUntil } from './suspended-until.ts'

/** Milliseconds between two frames. */
const framePause = 80
/**
 * The pause after a frame is at least this many times as long as the frame took. Node waits on the loop until a
 * terminal has taken the output: a slow terminal gets fewer frames instead of holding up the run.
 */
const restFactor = 10
/** A process that was stopped in the middle of a frame must not rest for ten times that long. */
const longestRest = 1_000
/** Ages of running jobs are shown in tenths of a second; while nothing runs, times are in whole seconds. */
const runningTick = 200
const idleTick = 1_000
/** Why nodes wait is asked less often than frames are drawn: an answer may cost a walk through a queue. */
const explainPause = 400
const explained = 10
/** Lines that may wait for the next frame. */
const pendingLimit = 1_000

/** A terminal: `process.stdout` is one. */
export interface Terminal extends ScreenOutput {
  write: NodeJS.WriteStream['write']
  on(event: 'resize', listener: () => void): unknown
  off(event: 'resize', listener: () => void): unknown
}

export interface LiveOptions {
  readonly terminal: Terminal
  /** Standard errors, when they go to the same terminal. */
  readonly errors?: Pick<NodeJS.WriteStream, 'write'> | undefined
  /** Whether keys are heard. */
  readonly keys: boolean
  readonly color: boolean
  readonly symbols: Symbols
  /** The view is gone; the run continues without it. */
  readonly onFailure: (error: unknown) => void
}

/** The size used for terminals that do not know theirs. */
const usualSize = { columns: 80, rows: 24 }

export class LiveReporter implements Reporter {
  readonly #plan: RunPlan
  readonly #symbols: Symbols
  readonly #keys: boolean
  readonly #color: boolean
  readonly #onFailure: (error: unknown) => void
  readonly #terminal: Terminal
  readonly #screen: Screen
  readonly #captures: Capture[]
  readonly #model: RunModel
  readonly #estimate: Estimate
  #scheduler: Scheduler | undefined
  #ui: UiState = firstUi
  #gap: GapNotice | undefined
  #notice: string | undefined
  #waiting: readonly WaitingNotice[] = []
  /** What suspended nodes wait for. */
  #suspended: ReadonlyMap<NodeRow, Explanation> = new Map()
  #explainedAt = -Infinity
  /** Lines for above the region. */
  #pending: string[] = []
  #frameTimer: Timer | undefined
  #tickTimer: Timer | undefined
  /** No frame before. */
  #nextFrameAt = -Infinity
  #state: 'shown' | 'suspended' | 'closed' = 'shown'

  constructor(plan: RunPlan, options: LiveOptions) {
    this.#plan = plan
    this.#symbols = options.symbols
    this.#keys = options.keys
    this.#color = options.color
    this.#onFailure = options.onFailure
    this.#terminal = options.terminal
    this.#model = new RunModel(plan.graph, plan)
    this.#estimate = new Estimate(plan.graph, plan)
    const out = capture(options.terminal, (text) => this.#print(this.#linesOf(text)))
    this.#captures = [out]
    if (options.errors !== undefined) {
      this.#captures.push(capture(options.errors, (text) => this.#print(this.#linesOf(text))))
    }
    this.#screen = new Screen({
      get columns() {
        return options.terminal.columns || usualSize.columns
      },
      get rows() {
        return options.terminal.rows || usualSize.rows
      },
      write: (text) => out.write(text),
    })
    options.terminal.on('resize', this.#request)
    this.#tickTimer = plan.clock.setTimer(idleTick, this.#tick)
    // Now, and not with the first event: the first frame of a process takes ten times as long as the next.
    this.#draw()
  }

  observe(event: RunEvent): void {
    this.#model.apply(event)
    this.#estimate.apply(event)
    if (event.type === 'log') this.#print(this.#logLines(event.name, event.text))
    // After a pause or a cancel every answer changes.
    if (event.type === 'state') this.#explainedAt = -Infinity
    this.#request()
  }

  started(run: Run): void {
    this.#scheduler = run.scheduler
    this.#request()
  }

  notice(text: string): void {
    this.#notice = printable(text)
    this.#request()
  }

  gap(gap: LoopGap): void {
    if (this.#gap !== undefined && this.#gap.ms >= gap.ms) return
    this.#gap = { ms: gap.ms, blame: describeGap(gap) }
    this.#request()
  }

  press(key: string): boolean {
    const next = pressKey(this.#ui, key, this.#model.total)
    if (next === undefined) return false
    this.#ui = next
    this.#request()
    return true
  }

  suspend(): void {
    if (this.#state !== 'shown') return
    this.#flush()
    this.#screen.hide()
    this.#state = 'suspended'
  }

  resume(): void {
    if (this.#state === 'closed') return
    this.#state = 'shown'
    // A process that was stopped from outside has not hidden anything: start below whatever is there.
    this.#screen.forget()
    this.#request()
  }

  [Symbol.dispose](): void {
    if (this.#state === 'closed') return
    this.#frameTimer?.cancel()
    this.#tickTimer?.cancel()
    this.#terminal.off('resize', this.#request)
    // Before the region goes: they pass on text that was written without an end of line.
    for (const captured of this.#captures) captured[Symbol.dispose]()
    this.#flush()
    this.#screen.hide()
    this.#state = 'closed'
  }

  #logLines(name: string, text: string): string[] {
    const prefix = paint([span(`${printable(name)}: `, 'dim')], this.#color)
    return this.#linesOf(text).map((line) => prefix + line)
  }

  /** Output of jobs keeps its own colours, where colours are enabled. */
  #linesOf(text: string): string[] {
    return this.#color ? colorfulLines(text) : printableLines(text)
  }

  #print(lines: readonly string[]): void {
    for (const line of lines) this.#pending.push(line)
    if (this.#pending.length >= pendingLimit) this.#flush()
    else this.#request()
  }

  #flush(): void {
    const lines = this.#pending
    this.#pending = []
    this.#screen.print(lines)
  }

  readonly #request = (): void => {
    if (this.#frameTimer !== undefined || this.#state !== 'shown') return
    const pause = Math.max(0, this.#nextFrameAt - this.#plan.clock.now())
    this.#frameTimer = this.#plan.clock.setTimer(pause, this.#draw)
  }

  readonly #tick = (): void => {
    const { running, retrying } = this.#model.counts
    const pause = running + retrying > 0 ? runningTick : idleTick
    this.#tickTimer = this.#plan.clock.setTimer(pause, this.#tick)
    this.#request()
  }

  readonly #draw = (): void => {
    this.#frameTimer = undefined
    if (this.#state !== 'shown') return
    try {
      this.#drawFrame()
    } catch (error) {
      // A view must not end what it shows (P12).
      this[Symbol.dispose]()
      this.#onFailure(error)
    }
  }

  #drawFrame(): void {
    const { clock } = this.#plan
    const now = clock.now()
    this.#explain(now)
    const { columns, rows } = this.#screen
    const lines = frame(this.#model, this.#ui, {
      columns,
      rows,
      now,
      remaining: this.#estimate.remaining(now, suspendedUntil(this.#model, this.#suspended, clock)),
      waiting: this.#waiting,
      gap: this.#gap,
      notice: this.#notice,
      progress: this.#plan.progress?.(),
      canLeave: this.#plan.journal !== undefined && this.#plan.journal !== 'memory',
      keys: this.#keys,
      symbols: this.#symbols,
    })
    const above = this.#pending
    this.#pending = []
    this.#screen.draw(
      lines.map((line) => painted(paint(line, this.#color), textOf(line))),
      above,
    )
    const drawnAt = clock.now()
    const rest = Math.min(longestRest, restFactor * (drawnAt - now))
    this.#nextFrameAt = Math.max(now + framePause, drawnAt + rest)
  }

  #explain(now: number): void {
    const scheduler = this.#scheduler
    if (scheduler === undefined || now - this.#explainedAt < explainPause) return
    this.#explainedAt = now
    this.#suspended = new Map(
      suspendedRows(this.#model).map((row) => [row, scheduler.explain(row.key)]),
    )
    for (const [row, explanation] of this.#suspended) {
      row.waitsFor = printable(suspendedText(explanation))
    }
    this.#waiting = this.#model.upcoming(explained).map((row) => ({
      row,
      state: row.state === 'ready' ? 'ready' : 'waiting',
      text: printable(whyWaiting(scheduler.explain(row.key), this.#model, now)),
    }))
  }
}

/** The screen already shows which nodes hold the permits of the whole run: the running ones. */
function whyWaiting(explanation: Explanation, model: RunModel, now: number): string {
  const { why, text } = explanation
  if (why === 'dependencies') return asShown(explanation, model, now)
  if (why !== 'permits' || explanation.resource !== 'concurrency') return text
  const { capacity } = explanation
  return `ready; ${capacity === 1 ? 'one job runs at a time' : `all ${capacity} permits are in use`}`
}

/** A map or a job with steps that is suspended is shown as running while something of it runs (M5): here as well. */
function asShown(
  { on, text }: Extract<Explanation, { why: 'dependencies' }>,
  model: RunModel,
  now: number,
): string {
  let shown = text
  for (const { name, state } of on) {
    const row = state === 'suspended' ? model.get(name) : undefined
    if (row?.state !== 'running') continue
    const age = formatDuration(now - (row.startedAt ?? now))
    shown = shown.replace(`"${name}" (suspended)`, () => `"${name}" (running ${age})`)
  }
  return shown
}
