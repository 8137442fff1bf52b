/** `heddle analyze`: from the command line to an answer and an exit code. */
import { access } from 'node:fs/promises'
import path from 'node:path'
import { text as readAll } from 'node:stream/consumers'
import {
  analyze,
  baselineName,
  count,
  loadConfig,
  makeReport,
  selectTargets,
  summaryLines,
  type Analysis,
  type Baseline,
  type MadeReport,
  type Selection,
} from '@heddle/analyze'
import { HeddleError } from '@heddle/core'
import { systemKernel } from '@heddle/core/lowlevel'
import { exitCodes, type ExitCode } from '../exit-codes.ts'
import { readVersion } from '../version.ts'
import { span } from '../view/line.ts'
import { readBaseline, writeBaseline } from './baseline-file.ts'
import { explanation, explanationRecord } from './explain.ts'
import { exitCodeOf } from './outcome.ts'
import { render } from './render.ts'
import { rootOf } from './root.ts'
import { settle, type AnalyzeFlags, type Settings } from './settings.ts'
import { Surface } from './surface.ts'

/**
 * Does what the command line says, and sets the exit code.
 *
 * *Cancellation*: by ending the process; nothing is changed but files that are written whole.
 */
export async function executeAnalyze(flags: AnalyzeFlags): Promise<void> {
  const surface = new Surface(flags)
  try {
    process.exitCode = await work(flags, surface)
  } catch (error) {
    surface.fail(error)
    // What is not ours is a fault of the analyzer, not of who called it.
    process.exitCode = error instanceof HeddleError ? exitCodes.usage : exitCodes.incomplete
  }
}

async function work(flags: AnalyzeFlags, surface: Surface): Promise<ExitCode> {
  if (flags.explain !== undefined) {
    if (flags.format === 'json')
      await surface.answer(`${JSON.stringify(explanationRecord(flags.explain))}\n`, [])
    else surface.print(explanation(flags.explain, surface.text))
    return exitCodes.ok
  }
  const cwd = process.cwd()
  const loaded = await loadConfig(cwd, flags.config)
  const settings = settle(flags, loaded, { cwd, baseline: baselineName })
  const targets = flags.targets.length > 0 ? flags.targets : settings.include
  const root = await rootOf(loaded.folder, targets, cwd)
  const baseline = await readBaseline(
    settings.baseline.file,
    settings.baseline.isNamed && !flags.writeBaseline,
  )
  const selection = await select(targets, root, cwd, flags, settings)
  surface.progress(`analysing ${selection.files.length} files …`)
  const analysis = await analyze({
    root,
    files: selection.files,
    types: settings.types,
    overlays: selection.overlays,
  })
  const made = await report(analysis, { selection, settings, baseline, root })
  return finish(made, { flags, settings, surface, root })
}

async function select(
  targets: readonly string[],
  root: string,
  cwd: string,
  flags: AnalyzeFlags,
  { exclude }: Settings,
): Promise<Selection> {
  const stdin = targets.includes('-') ? await readAll(process.stdin) : undefined
  return selectTargets(
    // They were typed in the current folder, and are looked for from the root.
    targets.map((target) => {
      const moved = path.relative(root, path.resolve(cwd, target))
      return target === '-' || root === cwd ? target : moved || '.'
    }),
    {
      root,
      exclude,
      ...(flags.changedSince !== undefined && { changedSince: flags.changedSince }),
      ...(stdin !== undefined && { stdin }),
    },
  )
}

interface ReportSources {
  readonly selection: Selection
  readonly settings: Settings
  readonly baseline: Baseline | undefined
  readonly root: string
}

async function report(analysis: Analysis, sources: ReportSources): Promise<MadeReport> {
  const { selection, settings, baseline, root } = sources
  const gone = await goneFiles(baseline, root)
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
      today: new Date(systemKernel.clock.wallTime()).toISOString().slice(0, 10),
    },
  )
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

interface Ending {
  readonly flags: AnalyzeFlags
  readonly settings: Settings
  readonly surface: Surface
  readonly root: string
}

async function finish(
  made: MadeReport,
  { flags, settings, surface, root }: Ending,
): Promise<ExitCode> {
  const version = await readVersion()
  const options = { text: surface.text, color: surface.color, version, root }
  const summary = summaryLines(made.report)
  if (flags.writeBaseline) {
    const { file } = settings.baseline
    await writeBaseline(file, made.baseline)
    const written = count(made.baseline.findings.length, 'finding')
    if (settings.format === 'text') surface.print(summary)
    surface.tell([span(`Wrote ${written} to ${path.relative('', file)}.`, 'green')])
    return exitCodeOf(made.report, 'never', settings.failLevel)
  }
  await surface.answer(render(made.report, settings.format, options), summary)
  return exitCodeOf(made.report, settings.failOn, settings.failLevel)
}
