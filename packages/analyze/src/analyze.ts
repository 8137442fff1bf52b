/**
 * The whole analysis: split into parts, read, parse, lower, link, summarise, ask the rules.
 *
 * Reading and parsing yield to the loop now and then, the phases behind them do not (see `analyze`).
 */
import { systemKernel } from '@heddle/core/lowlevel'
import type { Clock, Kernel } from '@heddle/core/lowlevel'
import type { Analysis, AnalyzeOptions, ProgramAnalysis } from './analysis.ts'
import { readProgram } from './frontend/read-program.ts'
import { Resolver } from './frontend/resolve/resolve.ts'
import { SourceTexts } from './frontend/source-text.ts'
import { Turns } from './frontend/turns.ts'
import { compileLightly } from './light-compiling.ts'
import { loadCatalogue } from './models/load.ts'
import { analyzePart, type PartContext } from './parts/analyze-part.ts'
import { filesAround } from './parts/around.ts'
import { joinParts } from './parts/join.ts'
import type { PartResult } from './parts/part-result.ts'
import { partsOf } from './parts/parts.ts'
import { runParts, startThreads, threadsFor } from './parts/run-parts.ts'
import { ProgramTypes } from './typed/program-types.ts'
import { useTypes } from './typed/use-types.ts'

/**
 * Analyses files together.
 *
 * @remarks *Cancellation*: the signal is checked between files and between phases; nothing is left
 * behind. *Fairness*: it yields to the loop every few files while it reads, and then between phases. A
 * phase of a large part holds the loop for a second or more: a server calls it in a thread.
 * Without types, and with nothing to keep, very large programs are analysed in threads of their own.
 */
export function analyze(
  options: AnalyzeOptions & { readonly keepsProgram: true },
  kernel?: Kernel,
): Promise<ProgramAnalysis>
export function analyze(options: AnalyzeOptions, kernel?: Kernel): Promise<Analysis>
export async function analyze(
  asked: AnalyzeOptions,
  kernel: Kernel = systemKernel,
): Promise<Analysis> {
  const { root, overlays, cache } = asked
  const files = cache === undefined ? await filesAround(asked, kernel.clock) : asked.files
  const options = { ...asked, files }
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
  kernel: Kernel,
): Promise<Analysis> {
  const { clock } = kernel
  const began = clock.now()
  const isKept = types !== undefined || options.cache !== undefined || options.keepsProgram
  const { results, textOf } = isKept
    ? await analyzeTogether(types, options, kernel)
    : await analyzeApart(options, kernel)
  const sum = (of: (one: PartResult) => number): number =>
    results.reduce((total, one) => total + of(one), 0)
  return {
    ...joinParts(results, options.root, textOf),
    stats: {
      files: sum((one) => one.files.length),
      lines: sum((one) => one.lines),
      functions: sum((one) => one.functions),
      types: types?.source ?? 'none',
      ms: {
        parse: sum(({ ms }) => ms.parse),
        lower: sum(({ ms }) => ms.lower),
        types: sum(({ ms }) => ms.types),
        summaries: sum(({ ms }) => ms.summaries),
        rules: sum(({ ms }) => ms.rules),
        total: clock.now() - began,
      },
    },
  }
}

interface Parts {
  /** The results in the order of the parts. */
  readonly results: readonly PartResult[]
  /** The text of a file that was read, by its absolute path. */
  readonly textOf: (file: string) => string | undefined
}

/** From files that are read together: trees, a program or a compiler are kept for all parts. */
async function analyzeTogether(
  types: ProgramTypes | undefined,
  options: AnalyzeOptions,
  { clock }: Kernel,
): Promise<Parts> {
  const { root, files, overlays, cache, signal } = options
  const began = clock.now()
  const catalogue = await loadCatalogue(options.models)
  const texts = new SourceTexts(overlays)
  const read = await readProgram({ root, files, texts, cache: cache?.sources, signal, clock })
  types?.read(read.parsed)
  const parsed = new Map(read.parsed.map((one) => [one.file, one]))
  const textOf = (file: string): string | undefined => parsed.get(file)?.text
  const parts = await partsOf(files, textOf, new Resolver(files), clock, signal)
  const known = cache?.loweredFor(root, options.guards)
  let firstUnit = 0
  const results: PartResult[] = []
  for (const [index, part] of parts.entries()) {
    const isFirst = index === 0
    const own = {
      parsed: part.flatMap((file) => parsed.get(file) ?? []),
      diagnostics: isFirst ? read.diagnostics : [],
    }
    const context = {
      options,
      catalogue,
      // The same resolver as for a part that is analysed alone.
      resolver: new Resolver(part),
      clock,
      firstUnit,
      known,
      useTypes:
        types &&
        (async (program) => {
          const told = await useTypes(program, types)
          // No caller asks any more: it ends while the rest is worked out.
          if (cache === undefined && index === parts.length - 1) void types.close()
          return told
        }),
    } satisfies PartContext
    const result = await analyzePart(own, isFirst ? clock.now() - began : 0, context)
    firstUnit += result.functions
    results.push(result)
  }
  return { results, textOf }
}

/** Only the findings of a part are kept. */
async function analyzeApart(options: AnalyzeOptions, kernel: Kernel): Promise<Parts> {
  const { files, overlays, signal } = options
  const catalogue = await loadCatalogue(options.models)
  const texts = new SourceTexts(overlays)
  const textOf = (file: string): string | undefined => texts.textOf(file)
  const threads = threadsFor(await lengthOf(files, textOf, kernel.clock, signal))
  if (threads > 0 && options.ownsProcess === true) compileLightly()
  await using pool = threads === 0 ? undefined : startThreads(threads, files.length, kernel)
  const parts = await partsOf(files, textOf, new Resolver(files), kernel.clock, signal)
  return { results: await runParts(parts, { options, texts, catalogue, kernel, pool }), textOf }
}

/** How many characters there are; all files are read for it. */
async function lengthOf(
  files: readonly string[],
  textOf: (file: string) => string | undefined,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<number> {
  const turns = new Turns(clock)
  let length = 0
  for (const file of files) {
    signal?.throwIfAborted()
    length += textOf(file)?.length ?? 0
    await turns.next()
  }
  return length
}
