/** One command: its targets, and how to find, judge and answer them. Once, or again and again. */
import { access } from 'node:fs/promises'
import path from 'node:path'
import {
  baselineName,
  count,
  inventoryMarkdown,
  loadCatalogue,
  loadConfig,
  makeInventory,
  makeReport,
  selectTargets,
  summaryLines,
  type Analysis,
  type AnalyzeOptions,
  type Baseline,
  type MadeReport,
  type ProgramAnalysis,
  type Selection,
} from '@heddle/analyze'
import { HeddleError } from '@heddle/core'
import { systemKernel } from '@heddle/core/lowlevel'
import { exitCodes, type ExitCode } from '../exit-codes.ts'
import { readVersion } from '../own-version.ts'
import { span } from '../text/line.ts'
import { readBaseline, writeBaseline } from './baseline-file.ts'
import { exitCodeOf } from './exit-code.ts'
import { render } from './render.ts'
import { rootOf } from './root.ts'
import { settle, type AnalyzeFlags, type Settings } from './analyze-settings.ts'
import type { Surface } from './surface.ts'

export class Session {
  readonly root: string
  readonly settings: Settings
  readonly #flags: AnalyzeFlags
  readonly #targets: readonly string[]
  readonly #surface: Surface
  readonly #version: string
  /** Read once. */
  readonly #stdin: string | undefined

  private constructor(
    flags: AnalyzeFlags,
    surface: Surface,
    found: {
      readonly root: string
      readonly settings: Settings
      readonly targets: readonly string[]
      readonly version: string
      readonly stdin: string | undefined
    },
  ) {
    this.#flags = flags
    this.#surface = surface
    this.root = found.root
    this.settings = found.settings
    this.#targets = found.targets
    this.#version = found.version
    this.#stdin = found.stdin
  }

  /**
   * Reads the settings and finds out where to start.
   *
   * *Cancellation*: none; it reads one small file.
   *
   * @throws `HDL_ANALYZE_CONFIG`
   */
  static async open(
    flags: AnalyzeFlags,
    surface: Surface,
    stdin: string | undefined,
  ): Promise<Session> {
    const cwd = process.cwd()
    const loaded = await loadConfig(cwd, flags.config)
    const settings = settle(flags, loaded, { cwd, baseline: baselineName })
    const given = flags.targets.length > 0 ? flags.targets : settings.include
    const root = await rootOf(cwd, given)
    // They were typed in the current folder, and are looked for from the root.
    const isAsTyped = flags.targets.length > 0 && root === cwd
    const targets = given.map((target) => {
      if (target === '-' || isAsTyped) return target
      return path.relative(root, path.resolve(cwd, target)) || '.'
    })
    return new Session(flags, surface, {
      root,
      settings,
      targets,
      version: await readVersion(),
      stdin,
    })
  }

  /**
   * Finds the files. A second call finds the files that have been added since.
   *
   * *Cancellation*: none; it is short.
   *
   * @throws `HDL_NO_SUCH_SOURCE`, `HDL_BAD_TARGET`
   */
  async select(): Promise<Selection> {
    const selection = await selectTargets(this.#targets, {
      root: this.root,
      exclude: this.settings.exclude,
      excludeFrom: this.settings.excludeFrom,
      ...(this.#flags.changedSince !== undefined && { changedSince: this.#flags.changedSince }),
      ...(this.#stdin !== undefined && { stdin: this.#stdin }),
    })
    const { changedSince, watch } = this.#flags
    // The wrong folder would look like a clean one. With these, having nothing to do is normal.
    if (selection.files.length === 0 && changedSince === undefined && !watch)
      throw new HeddleError('HDL_NO_SUCH_SOURCE', { path: this.#targets.join(' ') })
    return selection
  }

  optionsFor(selection: Selection): Omit<AnalyzeOptions, 'signal'> {
    return {
      root: this.root,
      files: selection.files,
      types: this.settings.types,
      overlays: selection.overlays,
      models: this.settings.models,
      guards: this.settings.guards,
      // Its documents describe targets even where nothing is found.
      keepsProgram: this.settings.format === 'markdown',
    }
  }

  /** Reads the baseline: before the analysis, so that a wrong name costs no time. */
  async baseline(): Promise<Baseline | undefined> {
    const { file, isNamed } = this.settings.baseline
    const baseline = await readBaseline(file, isNamed && !this.#flags.writeBaseline)
    return baseline && rebase(baseline, path.dirname(file), this.root)
  }

  /**
   * Judges and answers.
   *
   * *Cancellation*: none; files are written whole or not at all.
   */
  async answer(
    analysis: Analysis,
    selection: Selection,
    baseline: Baseline | undefined,
  ): Promise<ExitCode> {
    const { settings } = this
    const made = await this.judge(analysis, selection, baseline)
    const summary = summaryLines(made.report)
    if (this.#flags.writeBaseline) {
      const { file } = settings.baseline
      await writeBaseline(file, rebase(made.baseline, this.root, path.dirname(file)))
      const written = count(made.baseline.findings.length, 'finding')
      if (settings.format === 'text') this.#surface.print(summary)
      const where = path.relative('', file)
      this.#surface.printNote([span(`Wrote ${written} to ${where}.`, 'green')])
      return exitCodeOf(made.report, 'never', settings.failLevel)
    }
    const { text, color } = this.#surface
    const options = { text, color, version: this.#version, root: this.root }
    await this.#surface.answer(render(made.report, settings.format, options), summary)
    return exitCodeOf(made.report, settings.failOn, settings.failLevel)
  }

  /**
   * Answers with the inventory instead of findings.
   *
   * *Cancellation*: none; files are written whole or not at all.
   *
   * @throws `HDL_MODEL_INVALID`, `HDL_MODEL_UNREADABLE`
   */
  async answerInventory(analysis: ProgramAnalysis): Promise<ExitCode> {
    const catalogue = await loadCatalogue(this.settings.models)
    const inventory = makeInventory(analysis.program, catalogue)
    const isJson = this.settings.format === 'json'
    const text = isJson ? `${JSON.stringify(inventory)}\n` : inventoryMarkdown(inventory)
    const size = count(analysis.stats.files, 'file')
    await this.#surface.answer(text, [[span(`Wrote the inventory of ${size}.`)]])
    for (const { file = '', message, isIncomplete } of analysis.diagnostics)
      if (isIncomplete) this.#surface.printNote([span(`incomplete: ${file}: ${message}`, 'red')])
    return analysis.diagnostics.some((each) => each.isIncomplete)
      ? exitCodes.incomplete
      : exitCodes.ok
  }

  /**
   * The shown part of an analysis: settings, suppressions, baseline and level are applied.
   *
   * *Cancellation*: none; it asks for a few names.
   */
  async judge(
    analysis: Analysis,
    selection: Selection,
    baseline: Baseline | undefined,
  ): Promise<MadeReport> {
    const { settings } = this
    const gone = await goneFiles(baseline, this.root)
    const diagnostics = [...selection.diagnostics, ...analysis.diagnostics]
    return makeReport(
      { ...analysis, diagnostics },
      {
        isWanted: (finding, extent) => selection.isWanted(finding, extent),
        isWhole: (file) => selection.isWhole(file),
        exists: (file) => !gone.has(file),
        rules: settings.rules,
        level: settings.level,
        failLevel: settings.failLevel,
        baseline,
        showsKnown: settings.failOn === 'any',
        isWithoutTypes: !this.#flags.types,
        surveyed: settings.format === 'markdown' ? this.#targets : [],
        today: new Date(systemKernel.clock.wallTime()).toISOString().slice(0, 10),
      },
    )
  }
}

/** Paths in a baseline start from its own folder: it says the same wherever the command is typed. */
function rebase(baseline: Baseline, from: string, to: string): Baseline {
  if (from === to) return baseline
  const findings = baseline.findings.map((entry) => {
    const file = path.relative(to, path.resolve(from, entry.file)).split(path.sep).join('/')
    return { ...entry, file }
  })
  return { ...baseline, findings }
}

/** Files of the baseline that do not exist any more. */
async function goneFiles(
  baseline: Baseline | undefined,
  root: string,
): Promise<ReadonlySet<string>> {
  const gone = new Set<string>()
  for (const file of new Set(baseline?.findings.map((entry) => entry.file))) {
    await access(path.join(root, file)).catch(() => gone.add(file))
  }
  return gone
}
