/**
 * One JSON object per event and line, for programs. The last line is the result, or
 * `{ "ok": false, "error": … }` when the run could not start or crashed. Times are milliseconds since 1970.
 */
import type { CriticalPath, Concurrency, GraphResult, Run, RunEvent, Scheduler } from '@heddle/core'
import type { LoopGap } from '@heddle/core/lowlevel'
import { errorRecord, type PrintedError } from './error-record.ts'
import { describeGap } from './gap.ts'
import type { Output } from './output.ts'
import type { Reporter, RunPlan } from './reporter.ts'

export class JsonReporter implements Reporter {
  readonly #out: Output
  readonly #plan: RunPlan
  #scheduler: Pick<Scheduler, 'explain'> | undefined
  /** From the clock's monotonic scale to wall time. */
  readonly #offset: number

  constructor(out: Output, plan: RunPlan) {
    this.#out = out
    this.#plan = plan
    this.#offset = plan.clock.wallTime() - plan.clock.now()
  }

  observe(event: RunEvent): void {
    if (event.type === 'complete') return
    const at = this.#wallTime(event.at)
    if (event.type === 'start') {
      const { title, journal, concurrency } = this.#plan
      this.#line({
        ...event,
        at,
        title,
        concurrency: finite(concurrency),
        journal: journal ?? null,
      })
    } else if ('error' in event && event.error !== undefined) {
      this.#line({ ...event, at, error: errorRecord(event.error) })
    } else if (event.type === 'part' && event.error !== undefined) {
      this.#line({ ...event, at, error: errorRecord(event.error) })
    } else if (event.type === 'node' && event.state === 'suspended') {
      this.#line({ ...event, at, ...this.#waitsFor(event.name) })
    } else {
      this.#line({ ...event, at })
    }
  }

  /** The sleep or wait of a suspended job; nothing where it waits for its own steps or elements. */
  #waitsFor(name: string): object {
    const explanation = this.#scheduler?.explain(name)
    return explanation?.why === 'suspended' && explanation.waitsFor !== undefined
      ? { waitsFor: explanation.waitsFor }
      : {}
  }

  started(run: Pick<Run, 'id' | 'scheduler'>): void {
    this.#scheduler = run.scheduler
    this.#line({ type: 'run', at: this.#plan.clock.wallTime(), run: run.id ?? null })
  }

  notice(text: string): void {
    this.#line({ type: 'notice', at: this.#plan.clock.wallTime(), text })
  }

  gap(gap: LoopGap): void {
    const { startedAt: at, ms, label, stack, certain } = gap
    this.#line({ type: 'gap', at, ms: round(ms), blame: describeGap(gap), label, stack, certain })
  }

  press(): boolean {
    return false
  }

  suspend(): void {}
  resume(): void {}
  [Symbol.dispose](): void {}

  #wallTime(at: number): number {
    return round(at + this.#offset)
  }

  #line(object: object): void {
    this.#out.line(JSON.stringify(object))
  }
}

/** Infinity is not JSON. */
function finite(concurrency: Concurrency): Concurrency | null {
  return concurrency === Infinity ? null : concurrency
}

function round(ms: number): number {
  return Math.round(ms * 1_000) / 1_000
}

export interface JsonResult {
  readonly ok: boolean
  readonly type: 'result'
  readonly run: string | null
  readonly state: 'finished' | 'cancelled'
  /** In the order in which they ended; nodes finished by an earlier run come first. */
  readonly succeeded: readonly string[]
  readonly failed: Readonly<Record<string, PrintedError & { readonly attempts: number }>>
  /** Name to the node that kept it from running. */
  readonly blocked: Readonly<Record<string, string>>
  readonly skipped: readonly string[]
  readonly cancelled: readonly string[]
  /** The part of `succeeded` that an earlier run had finished. */
  readonly reused: readonly string[]
  /** Milliseconds in which a process ran it: also those of earlier processes. */
  readonly duration: number
  /** The chain of nodes that decided how long it took; reused ones included. */
  readonly criticalPath: Pick<CriticalPath, 'length' | 'path'>
}

/** The last line of `heddle run --json`. */
export function jsonResult(
  result: GraphResult,
  { length, path }: Pick<CriticalPath, 'length' | 'path'>,
): JsonResult {
  const { ok, state, reused, skipped, cancelled } = result
  const failed = Array.from(result.failed, ([name, error]) => {
    const attempts = result.errors.get(name)?.length ?? 1
    return [name, { ...errorRecord(error), attempts }] as const
  })
  return {
    ok,
    type: 'result',
    run: result.run ?? null,
    state,
    succeeded: [...reused, ...result.succeeded],
    failed: Object.fromEntries(failed),
    blocked: Object.fromEntries(result.blocked),
    skipped,
    cancelled,
    reused,
    duration: round(result.duration),
    criticalPath: {
      length: round(length),
      path: path.map(({ name, ms }) => ({ name, ms: round(ms) })),
    },
  }
}
