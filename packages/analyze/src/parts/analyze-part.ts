/** One part, from its trees to its findings: lower, link, ask the compiler, summarise, apply the rules. */
import type { Clock } from '@heddle/core/lowlevel'
import type { AnalyzeOptions, Diagnostic } from '../analysis.ts'
import { runBlocking } from '../blocking/run-blocking.ts'
import { countLines } from '../frontend/lines.ts'
import type { ReadProgram } from '../frontend/read-program.ts'
import type { Resolver } from '../frontend/resolve/resolve.ts'
import { buildProgram } from '../ir/build.ts'
import type { LoweredFiles } from '../ir/lowered-files.ts'
import type { Program } from '../ir/program.ts'
import type { Catalogue } from '../models/catalogue.ts'
import { runRules } from '../rules/index.ts'
import { Model } from '../rules/program-model.ts'
import { summarise } from '../summaries/summary.ts'
import { Extents } from './extents.ts'
import type { PartResult } from './part-result.ts'

/** The context shared by all parts. */
export interface PartContext {
  readonly options: Pick<AnalyzeOptions, 'root' | 'rules' | 'guards' | 'signal' | 'keepsProgram'>
  readonly catalogue: Catalogue
  readonly resolver: Resolver
  /** Links what only the compiler knows; absent without types. */
  readonly useTypes?: ((program: Program) => Promise<readonly Diagnostic[]>) | undefined
  /** The number of its first function. Default 0. */
  readonly firstUnit?: number | undefined
  /** Files that earlier runs have lowered. */
  readonly known?: LoweredFiles | undefined
  readonly clock: Clock
}

/**
 * Analyses the files of one part together.
 *
 * *Cancellation*: the signal is checked between phases. *Fairness*: it yields to the loop there.
 *
 * @param parseMs How long it took to read them.
 */
export async function analyzePart(
  { parsed, diagnostics: told }: ReadProgram,
  parseMs: number,
  { options, catalogue, resolver, useTypes, firstUnit, known, clock }: PartContext,
): Promise<PartResult> {
  let began = clock.now()
  /** Between phases other work gets its turn, and the signal is checked. */
  const turn = async (): Promise<number> => {
    const ms = clock.now() - began
    await new Promise<void>((resolve) => clock.afterIo(resolve))
    options.signal?.throwIfAborted()
    began = clock.now()
    return ms
  }
  const built = buildProgram({
    root: options.root,
    files: parsed,
    guards: options.guards,
    firstUnit,
    known,
    resolve(fromFile, specifier) {
      const target = resolver.resolveImport(fromFile, specifier)
      return target.kind === 'file' ? target.file : undefined
    },
  })
  const { program } = built
  const lower = await turn()
  const ofTypes = (await useTypes?.(program)) ?? []
  const types = await turn()
  const found = summarise(program.units)
  const summaries = await turn()
  const races = runRules(new Model(program, found), options.rules)
  const racesMs = await turn()
  const blocking = runBlocking(program, catalogue, options.rules)
  const findings = [...races.findings, ...blocking.findings]
  const extents = new Extents(program.files, findings)
  const result = {
    findings: findings.map((finding) => ({ finding, extent: extents.of(finding) })),
    diagnostics: [
      ...told,
      ...built.diagnostics,
      ...ofTypes,
      ...races.diagnostics,
      ...blocking.diagnostics,
    ],
    files: parsed.map(({ file }) => file),
    lines: parsed.reduce((sum, one) => sum + countLines(one.text), 0),
    functions: program.units.length,
    ms: { parse: parseMs, lower, types, summaries, rules: racesMs + (clock.now() - began) },
  }
  if (options.keepsProgram === true) return { ...result, program }
  built.giveBack()
  return result
}
