/**
 * One line per event that matters, with the time: for logs, pipes and CI.
 *
 * No escape sequences, and nothing is overwritten. A run in which nothing happens for a while says that
 * it is alive: a CI service ends jobs that are silent.
 */
import type { Run, RunEvent, Scheduler } from '@heddle/core'
import type { LoopGap, Timer } from '@heddle/core/lowlevel'
import { describeConcurrency } from '../model/concurrency.ts'
import { Estimate } from '../model/estimate.ts'
import { RunModel, type NodeRow } from '../model/run-model.ts'
import {
  formatAge,
  formatCount,
  formatDuration,
  formatErrorWithCause,
  formatRemaining,
  formatTime,
  plural,
} from '../text/format.ts'
import { printable, printableLines } from '../text/terminal-text.ts'
import { describeGap } from './gap.ts'
import type { Output } from './output.ts'
import type { Reporter, RunPlan } from './reporter.ts'
import { suspendedText } from './suspended-text.ts'
import { suspendedRows, suspendedUntil } from './suspended-until.ts'

/** Milliseconds of silence after which the run says how it stands. */
const patience = 30_000
/** Lines about nodes that one failure blocks; the summary has the number of all. */
const blockedShown = 10

export class PlainReporter implements Reporter {
  readonly #out: Output
  readonly #plan: RunPlan
  readonly #model: RunModel
  readonly #estimate: Estimate
  #scheduler: Pick<Scheduler, 'explain'> | undefined
  /** Nodes of which a line says that they wait. */
  readonly #suspended = new Set<string>()
  #timer: Timer | undefined
  #saidAt = 0

  constructor(out: Output, plan: RunPlan) {
    this.#out = out
    this.#plan = plan
    this.#model = new RunModel(plan.graph, plan)
    this.#estimate = new Estimate(plan.graph, plan)
  }

  observe(event: RunEvent): void {
    const stateBefore =
      event.type === 'node' ? stateOf(this.#model.get(event.name)) : this.#model.state
    this.#model.apply(event)
    this.#estimate.apply(event)
    for (const [word, text] of this.#describe(event, stateBefore)) this.#say(word, text)
  }

  started(run: Pick<Run, 'id' | 'scheduler'>): void {
    this.#scheduler = run.scheduler
    if (run.id !== undefined) this.#say('run', `${run.id} in ${this.#plan.journal ?? 'memory'}`)
  }

  notice(text: string): void {
    this.#say('note', printable(text))
  }

  gap(gap: LoopGap): void {
    this.#say('loop', `stood still for ${formatDuration(gap.ms)}: ${describeGap(gap)}`)
  }

  press(): boolean {
    return false
  }

  suspend(): void {}
  resume(): void {}

  [Symbol.dispose](): void {
    this.#timer?.cancel()
  }

  #say(word: string, text: string): void {
    const { clock } = this.#plan
    this.#out.line(`${formatTime(clock.wallTime())} ${word.padEnd(9)} ${text}`)
    this.#saidAt = clock.now()
    // One timer that looks when something was said last, instead of one per line.
    this.#timer ??= clock.setTimer(patience, this.#breakSilence)
  }

  readonly #breakSilence = (): void => {
    const { clock } = this.#plan
    this.#timer = undefined
    const silence = clock.now() - this.#saidAt
    if (silence < patience) this.#timer = clock.setTimer(patience - silence, this.#breakSilence)
    else this.#sayProgress(clock.now())
  }

  #sayProgress(now: number): void {
    const { total, ended, counts } = this.#model
    const remaining = this.#estimate.remaining(now, this.#suspendedUntil())
    const left = remaining === undefined ? '' : formatRemaining(remaining)
    const active = [...this.#model.in('running')]
      .slice(0, 3)
      .map(({ name, startedAt }) => `${name} ${formatAge(now - (startedAt ?? now))}`)
    const more =
      counts.running > active.length ? `, and ${counts.running - active.length} more` : ''
    const isAsleep = counts.suspended > 0 && counts.ready + counts.retrying === 0
    const leave =
      this.#plan.journal === 'memory'
        ? ''
        : '; SIGTERM ends the process, --resume continues the run'
    const asleep = isAsleep
      ? `${formatCount(counts.suspended)} suspended, nothing running${leave}`
      : 'nothing running'
    const running = active.length === 0 ? asleep : `running: ${active.join(', ')}${more}`
    this.#say('progress', `${formatCount(ended)} of ${formatCount(total)} ended; ${running}${left}`)
  }

  #suspendedUntil(): number | undefined {
    const scheduler = this.#scheduler
    const explanations =
      scheduler === undefined
        ? []
        : suspendedRows(this.#model).map((row) => [row, scheduler.explain(row.key)] as const)
    return suspendedUntil(this.#model, new Map(explanations), this.#plan.clock)
  }

  *#describe(
    event: RunEvent,
    before: string | undefined,
  ): Iterable<readonly [word: string, text: string]> {
    switch (event.type) {
      case 'start': {
        const { title, concurrency } = this.#plan
        const limit = describeConcurrency(concurrency)
        const jobs = `${printable(title)}: ${plural(event.nodes, 'job')}`
        yield ['start', limit === undefined ? jobs : `${jobs}, ${limit}`]
        const reused = this.#model.counts.succeeded
        if (reused > 0) yield ['reused', `${plural(reused, 'job')} finished by an earlier run`]
        break
      }
      case 'state':
        if (event.state === 'paused') yield ['paused', 'nothing new starts until SIGUSR2']
        if (event.state === 'running' && before === 'paused') yield ['resumed', '']
        break
      case 'log':
        for (const line of printableLines(event.text))
          yield ['log', `${printable(event.name)}: ${line}`]
        break
      case 'node': {
        const line = this.#describeNode(event, before)
        if (line !== undefined) yield line
        break
      }
      case 'progress':
      case 'nodes':
      case 'part':
      case 'complete':
        break
    }
  }

  #describeNode(
    event: RunEvent & { type: 'node' },
    stateBefore: string | undefined,
  ): readonly [string, string] | undefined {
    const row = this.#model.get(event.name)
    if (row === undefined) return undefined
    const { name } = row
    const error = (): string => printableLines(formatErrorWithCause(event.error)).join(' ')
    switch (event.state) {
      case 'running':
        if (stateBefore !== 'suspended') return ['running', `${name} (${row.place})${again(row)}`]
        return this.#suspended.delete(event.name) ? ['continued', name] : undefined
      case 'succeeded':
        return row.reused ? undefined : ['done', `${name} ${took(row)}`]
      case 'retrying':
        return ['retry', `${name} in ${formatDuration(event.delay ?? 0)}: ${error()}`]
      case 'failed':
        return ['failed', `${name} ${took(row)}: ${error()}`]
      case 'cancelled':
        return ['cancelled', `${name} ${took(row)}`]
      case 'blocked': {
        const cause = event.blockedBy === undefined ? undefined : this.#model.get(event.blockedBy)
        if (cause !== undefined && cause.blocks > blockedShown) return undefined
        return ['blocked', `${name} by ${row.blockedBy ?? ''}`]
      }
      case 'suspended': {
        // A job that runs a step, or a map, has more to say than that it waits for its own work.
        const explanation = this.#scheduler?.explain(event.name)
        const why = explanation === undefined ? '' : suspendedText(explanation)
        if (!/^(?:waits for the signal|sleeps until)/.test(why)) return undefined
        this.#suspended.add(event.name)
        return ['suspended', `${name} ${printable(why)}`]
      }
      case 'waiting':
      case 'ready':
      case 'skipped':
        return undefined
    }
  }
}

/** The state in the scheduler: a working map is shown as running, but is suspended. */
function stateOf(row: NodeRow | undefined): string | undefined {
  return row?.isSuspended === true ? 'suspended' : row?.state
}

function again({ attempt, retries }: NodeRow): string {
  if (attempt === 0) return ''
  return `, attempt ${attempt + 1}${Number.isFinite(retries) ? ` of ${retries + 1}` : ''}`
}

function took({ startedAt, endedAt }: NodeRow): string {
  if (startedAt === undefined || endedAt === undefined) return ''
  return `in ${formatDuration(endedAt - startedAt)}`
}
