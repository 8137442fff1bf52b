/**
 * `heddle release publish` from the flags to the exit code.
 *
 * It is a run like any other: the same keys, signals, live view and events. What it says at the end
 * is what the registries hold.
 */
import type { Graph, Run, RunEvent } from '@heddle/core'
import { systemKernel } from '@heddle/core/lowlevel'
import {
  publishRelease,
  readWorkspace,
  type ReleasePlan,
  type ReleaseReport,
} from '@heddle/release'
import type { PublishFlags } from '../commands/release.ts'
import { exitCodes } from '../exit-codes.ts'
import { JsonReporter } from '../output/json.ts'
import { LiveReporter } from '../output/live.ts'
import type { Reporter, RunPlan } from '../output/reporter.ts'
import { Controls } from '../run/controls.ts'
import { formatError } from '../view/format.ts'
import { asciiSymbols, unicodeSymbols, type Symbols } from '../view/symbols.ts'
import { answering, type Answer } from './answering.ts'
import { readPlan, registriesFor } from './plan-source.ts'
import { ProgressReporter } from './progress.ts'
import { reportLines } from './report-lines.ts'

export async function publish(flags: PublishFlags): Promise<void> {
  await answering(flags, async (answer) => {
    const session = new PublishSession(flags, answer)
    using _controls = session.controls
    const report = await session.publish()
    answer.tell(reportLines(report, session.symbols))
    answer.result(report)
    if (report.isCancelled) {
      return session.controls.isTerminated ? exitCodes.terminated : exitCodes.cancelled
    }
    return report.ok ? exitCodes.ok : exitCodes.failed
  })
}

class PublishSession {
  readonly controls: Controls
  readonly symbols: Symbols
  readonly #flags: PublishFlags
  readonly #answer: Answer
  readonly #clock = systemKernel.clock
  #reporter: Reporter | undefined

  constructor(flags: PublishFlags, answer: Answer) {
    this.#flags = flags
    this.#answer = answer
    this.symbols = answer.choice.unicode ? unicodeSymbols : asciiSymbols
    this.controls = new Controls({ clock: this.#clock, exit: (code) => process.exit(code) })
  }

  async publish(): Promise<ReleaseReport> {
    const flags = this.#flags
    const { root } = await readWorkspace(process.cwd())
    await using registries = await registriesFor(root, flags)
    const { registryOf } = registries
    const replan = (): Promise<ReleasePlan> =>
      readPlan(flags, async (of, version, wait) => {
        const found = await registryOf({ package: of }).read(of.name, version, wait)
        return found !== undefined
      })
    try {
      return await publishRelease(await replan(), {
        registryOf,
        replan,
        dryRun: flags.dryRun ?? false,
        staged: flags.staged ?? false,
        gate: flags.gate,
        concurrency: flags.concurrency,
        retries: flags.retries,
        timeout: flags.timeout,
        visibilityBudget: flags.visibility,
        build: flags.build,
        smoke: flags.smoke,
        tag: flags.tag,
        pin: flags.pin,
        ...(flags.push !== undefined && { push: flags.push === true ? 'origin' : flags.push }),
        ...(flags.otp !== undefined && { otp: flags.otp }),
        ...(flags.tagFormat !== undefined && { tagFormat: flags.tagFormat }),
        ignoreScripts: flags.ignoreScripts ?? false,
        allowDirty: flags.allowDirty ?? false,
        allowUnpushed: flags.allowUnpushed ?? false,
        ...(flags.branch !== undefined && { branches: flags.branch }),
        onGraph: (graph) => this.#begin(graph),
        onStart: (run) => this.#attach(run),
        observer: (event: RunEvent) => this.#reporter?.observe(event),
      })
    } finally {
      this.controls.unlisten()
      this.#reporter?.[Symbol.dispose]()
    }
  }

  #begin(graph: Graph): void {
    this.#answer.begun()
    const { concurrency, retries, dryRun } = this.#flags
    const title = dryRun === true ? 'release (dry run)' : 'release'
    const durations = new Map<string, number>()
    const plan = { graph, title, concurrency, retries, durations, journal: undefined }
    this.#reporter = this.#makeReporter({ ...plan, clock: this.#clock })
  }

  #attach(run: Run): void {
    this.#reporter?.started(run)
    this.controls.attach(run.scheduler, this.#reporter!)
    if (this.#answer.choice.mode === 'live') this.controls.listen(process.stdin)
  }

  #makeReporter(plan: RunPlan): Reporter {
    const { choice, out, warn } = this.#answer
    if (choice.mode === 'json') return new JsonReporter(out, plan)
    if (choice.mode === 'plain') return new ProgressReporter(out, plan.clock)
    const { stdin, stdout, stderr } = process
    return new LiveReporter(plan, {
      terminal: stdout,
      errors: stderr.isTTY ? stderr : undefined,
      keys: stdin.isTTY,
      symbols: this.symbols,
      onFailure: (error) =>
        warn(`the live view failed, the release goes on: ${formatError(error)}`),
    })
  }
}
