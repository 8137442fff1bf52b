/**
 * `heddle release publish` from the flags to the exit code.
 *
 * It is a run like any other: the same keys, signals, live view and events. Its final report
 * is read from the registries.
 */
import type { Graph, Run, RunEvent } from '@heddle/core'
import { systemKernel } from '@heddle/core/lowlevel'
import { HeddleError } from '@heddle/core'
import {
  openForge,
  publishRelease,
  type Forge,
  type OnRegistry,
  type ReleaseConfig,
  type ReleaseOptions,
  type ReleasePlan,
  type ReleaseReport,
} from '@heddle/release'
import type { Typed } from './release-flags.ts'
import type { PublishFlags } from './flag-types.ts'
import { exitCodes } from '../exit-codes.ts'
import { JsonReporter } from '../output/json-reporter.ts'
import { LiveReporter } from '../output/live.ts'
import type { Reporter, RunPlan } from '../output/reporter.ts'
import { Controls } from '../run/controls.ts'
import { formatError } from '../text/format.ts'
import { span } from '../text/line.ts'
import { asciiSymbols, unicodeSymbols, type Symbols } from '../text/symbols.ts'
import { answering, type Answer } from './answering.ts'
import { PackageCount } from './package-count.ts'
import { readPlan, registriesFor } from './plan-source.ts'
import { ProgressReporter } from './progress.ts'
import { terminalPrompt } from './prompt.ts'
import { reportLines } from './report-lines.ts'
import { chosenFrom, type ReleaseSettings } from './release-settings.ts'

export async function publish(typed: Typed<PublishFlags>): Promise<void> {
  await answering(typed, async (answer) => {
    const session = new PublishSession(answer)
    using _controls = session.controls
    const report = await session.publish()
    answer.printLines(reportLines(report, session.symbols, { unpushedTo: session.unpushedTo }))
    answer.result(report)
    if (report.isCancelled) {
      return session.controls.isTerminated ? exitCodes.terminated : exitCodes.cancelled
    }
    return report.ok ? exitCodes.ok : exitCodes.failed
  })
}

/** Settings that both flags and config can give. */
function configured(flags: PublishFlags, config: ReleaseConfig): Partial<ReleaseOptions> {
  const { tagFormat } = chosenFrom(flags, config)
  const notes = flags.notes ?? config.notes ?? false
  // A forge announces tags that the remote has.
  const push = flags.push ?? config.push ?? notes !== false
  const remote = push === true ? 'origin' : push
  const lease = flags.lease ?? config.lease
  const build = flags.build ?? config.build
  const branches = flags.branch ?? config.branches
  const { smoke = true } = config
  const installOnly = typeof smoke === 'object' ? smoke.installOnly : undefined
  const isSnapshot = flags.snapshot !== undefined || flags.canary !== undefined
  return {
    smoke: flags.smoke && smoke !== false,
    tag: flags.tag && !isSnapshot,
    ...(installOnly !== undefined && { installOnly }),
    ...(remote !== false && { push: remote }),
    ...(lease !== undefined && lease !== true && { lease }),
    ...(build !== undefined && { build }),
    ...(branches !== undefined && { branches }),
    ...(tagFormat !== undefined && { tagFormat }),
  }
}

class PublishSession {
  readonly controls: Controls
  readonly symbols: Symbols
  readonly #flags: PublishFlags
  readonly #answer: Answer<PublishFlags>
  readonly #clock = systemKernel.clock
  #reporter: Reporter | undefined
  #count: PackageCount | undefined
  #isLeaving = false
  /** The remote that new tags are not sent to; undefined where they are, or there is none. */
  unpushedTo: string | undefined

  constructor(answer: Answer<PublishFlags>) {
    this.#flags = answer.flags
    this.#answer = answer
    this.symbols = answer.choice.unicode ? unicodeSymbols : asciiSymbols
    this.controls = new Controls({ clock: this.#clock, exit: (code) => this.#exit(code) })
  }

  /** Ends the process: at once when it is asked for a second time, or while a release is under way. */
  #exit(code: number): void {
    if (this.#reporter !== undefined || this.#isLeaving) {
      this.#answer.out.drain()
      process.exit(code)
    }
    this.#isLeaving = true
    const text = 'heddle: cancelled before anything was built or published\n'
    process.stderr.write(text, () => process.exit(code))
  }

  async publish(): Promise<ReleaseReport> {
    const flags = this.#flags
    const settings = await this.#answer.settings()
    const { config } = settings
    const set = configured(flags, config)
    if (this.#answer.choice.mode !== 'json') {
      this.#answer.printLines([
        [span('Checking the work tree, the packages and their registries.', 'dim')],
      ])
    }
    this.unpushedTo = set.push === undefined ? await settings.repository?.sharedRemote() : undefined
    const streams = { input: process.stdin, output: process.stderr }
    const prompt = terminalPrompt(streams, () => this.#reporter)
    await using registries = await registriesFor(settings, flags, prompt)
    const { registryOf } = registries
    const isOnRegistry: OnRegistry = async (of, version, wait) => {
      const found = await registryOf({ package: of }).read(of.name, version, wait)
      return found !== undefined
    }
    const replan = async (): Promise<ReleasePlan> =>
      readPlan(flags, await this.#answer.settings(), isOnRegistry)
    await using forge = await this.#openForge(settings)
    try {
      return await publishRelease(await readPlan(flags, settings, isOnRegistry), {
        registryOf,
        replan,
        ...set,
        ...(forge !== undefined && { forge }),
        dryRun: flags.dryRun ?? false,
        staged: flags.staged ?? false,
        gate: flags.gate,
        concurrency: flags.concurrency,
        retries: flags.retries,
        timeout: flags.timeout,
        visibilityBudget: flags.visibility,
        pin: flags.pin,
        onNotice: (text) => this.#answer.warn(text),
        ...(flags.otp !== undefined && { otp: flags.otp }),
        ignoreScripts: flags.ignoreScripts ?? false,
        allowDirty: flags.allowDirty ?? false,
        allowUnpushed: flags.allowUnpushed ?? false,
        onGraph: (graph) => this.#begin(graph),
        onStart: (run) => this.#attach(run),
        observer: (event: RunEvent) => {
          this.#count?.observe(event)
          this.#reporter?.observe(event)
        },
      })
    } finally {
      this.controls.unlisten()
      this.#reporter?.[Symbol.dispose]()
    }
  }

  /** Undefined when nothing is announced: a snapshot, or notes were not asked for. A dry run checks it. */
  async #openForge({ workspace, config }: ReleaseSettings): Promise<Forge | undefined> {
    const { notes = config.notes, snapshot, canary } = this.#flags
    if (notes === undefined || notes === false) return undefined
    if (snapshot !== undefined || canary !== undefined) return undefined
    if (notes === 'github' || notes === 'gitlab') {
      return openForge({ kind: notes, root: workspace.root })
    }
    const expected = 'github or gitlab'
    throw new HeddleError('HDL_BAD_OPTION', { option: 'notes', value: notes, expected })
  }

  #begin(graph: Graph): void {
    this.#answer.begun()
    const { concurrency, retries, dryRun } = this.#flags
    const title = dryRun === true ? 'release (dry run)' : 'release'
    const durations = new Map<string, number>()
    const count = new PackageCount(graph)
    this.#count = count
    const plan = { graph, title, concurrency, retries, durations, journal: undefined }
    const progress = (): string => count.text
    // A release that was killed in one stage again and again starts its stages a second time.
    this.#reporter?.[Symbol.dispose]()
    this.#reporter = this.#makeReporter({ ...plan, clock: this.#clock, progress })
  }

  #attach(run: Run): void {
    this.#reporter?.started(run)
    this.controls.attach(run.scheduler, this.#reporter!)
    if (this.#answer.choice.mode === 'live') this.controls.listen(process.stdin)
  }

  #makeReporter(plan: RunPlan): Reporter {
    const { choice, out, warn } = this.#answer
    if (choice.mode === 'json') return new JsonReporter(out, plan)
    if (choice.mode === 'plain') return new ProgressReporter(out, plan)
    const { stdin, stdout, stderr } = process
    return new LiveReporter(plan, {
      terminal: stdout,
      errors: stderr.isTTY ? stderr : undefined,
      keys: stdin.isTTY,
      color: choice.color,
      symbols: this.symbols,
      onFailure: (error) =>
        warn(`the live view failed; the release continues: ${formatError(error)}`),
    })
  }
}
