/**
 * The whole analysis: read, parse, lower, link, summarise, ask the rules.
 *
 * Reading and parsing yield to the loop now and then, so an editor or a server that hosts this stays
 * alive, and a signal can end it between files.
 */
import { systemKernel } from '@heddle/core/lowlevel'
import type { Kernel } from '@heddle/core/lowlevel'
import type { Analysis, AnalyzeOptions, Diagnostic } from './analysis.ts'
import { withFingerprints } from './baseline/fingerprint.ts'
import { runBlocking } from './blocking/run-blocking.ts'
import type { UnnamedFinding } from './baseline/fingerprint.ts'
import { readProgram } from './frontend/read-program.ts'
import { Resolver } from './frontend/resolve/resolve.ts'
import { buildProgram } from './ir/build.ts'
import { loadCatalogue } from './models/load.ts'
import { Model } from './rules/model.ts'
import { runRules } from './rules/index.ts'
import { summarise } from './summaries/summary.ts'
import { ProgramTypes } from './typed/program-types.ts'
import { useTypes } from './typed/use-types.ts'

/**
 * Analyses files together.
 *
 * @remarks *Cancellation*: the signal is looked at between files and between phases; nothing is left
 * behind. *Fairness*: it yields to the loop every few files.
 */
export async function analyze(
  options: AnalyzeOptions,
  kernel: Kernel = systemKernel,
): Promise<Analysis> {
  const { root, files, overlays, cache } = options
  if (options.types === 'none' || files.length === 0) {
    return analyzeWith(undefined, options, kernel)
  }
  const start = { root, files, overlays }
  const types = cache?.typesFor(start) ?? new ProgramTypes(start)
  try {
    return await analyzeWith(types, options, kernel)
  } finally {
    // The compiler of a cache is for the next run, too.
    if (cache === undefined) await types.close()
  }
}

async function analyzeWith(
  types: ProgramTypes | undefined,
  options: AnalyzeOptions,
  { clock }: Kernel,
): Promise<Analysis> {
  const started = clock.now()
  const { root, files, overlays, cache, signal } = options
  /** Between phases others get their turn, and the signal is looked at. */
  const turn = async (): Promise<void> => {
    await new Promise<void>((resolve) => clock.afterIo(resolve))
    signal?.throwIfAborted()
  }
  const catalogue = await loadCatalogue(options.models)
  const read = await readProgram({ root, files, overlays, cache: cache?.sources, signal, clock })
  const { parsed } = read
  const diagnostics: Diagnostic[] = [...read.diagnostics]
  const parsedAt = clock.now()
  await turn()
  const resolver = new Resolver(parsed.map((one) => one.file))
  const built = buildProgram({
    root: options.root,
    files: parsed,
    guards: options.guards,
    resolve(fromFile, specifier) {
      const target = resolver.resolveImport(fromFile, specifier)
      return target.kind === 'file' ? target.file : undefined
    },
  })
  diagnostics.push(...built.diagnostics)
  const loweredAt = clock.now()
  const { program } = built
  await turn()
  if (types !== undefined) diagnostics.push(...(await useTypes(program, parsed, types)))
  const typedAt = clock.now()
  await turn()
  const summaries = summarise(program.units)
  const summarisedAt = clock.now()
  await turn()
  const model = new Model(program, summaries)
  const results = runRules(model, options.rules)
  await turn()
  const blocking = runBlocking(program, catalogue, options.rules)
  diagnostics.push(...results.diagnostics, ...blocking.diagnostics)
  const texts = new Map(program.files.map((file) => [file.path, file.parsed.text]))
  const findings = withFingerprints(sorted([...results.findings, ...blocking.findings]), (file) =>
    texts.get(file),
  )
  const ended = clock.now()
  return {
    findings,
    diagnostics,
    program,
    stats: {
      files: parsed.length,
      lines: parsed.reduce((sum, one) => sum + one.lineAt(one.text.length).line, 0),
      functions: program.units.length,
      types: types?.source ?? 'none',
      ms: {
        parse: parsedAt - started,
        lower: loweredAt - parsedAt,
        types: typedAt - loweredAt,
        summaries: summarisedAt - typedAt,
        rules: ended - summarisedAt,
        total: ended - started,
      },
    },
  }
}

function sorted(findings: readonly UnnamedFinding[]): UnnamedFinding[] {
  return [...findings].sort(
    (a, b) =>
      (a.file < b.file ? -1 : a.file > b.file ? 1 : 0) ||
      a.line - b.line ||
      (a.rule < b.rule ? -1 : a.rule > b.rule ? 1 : 0),
  )
}
