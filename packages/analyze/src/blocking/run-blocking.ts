/** The blocking rules as a part of an analysis. */
import type { Diagnostic } from '../analysis.ts'
import type { UnnamedFinding } from '../baseline/fingerprint.ts'
import type { Program } from '../ir/program.ts'
import type { Catalogue } from '../models/catalogue.ts'
import { findBlocking } from './find-blocking.ts'
import { blockingRules } from './rules.ts'

export interface BlockingResults {
  readonly findings: readonly UnnamedFinding[]
  readonly diagnostics: readonly Diagnostic[]
}

/** Runs the rules that are wanted; absent is all. Their failure does not take the races with it. */
export function runBlocking(
  program: Program,
  catalogue: Catalogue,
  wanted?: readonly string[],
): BlockingResults {
  if (wanted !== undefined && !blockingRules.some(({ id }) => wanted.includes(id)))
    return { findings: [], diagnostics: [] }
  try {
    const found = findBlocking(program, catalogue)
    const findings =
      wanted === undefined ? found : found.filter(({ rule }) => wanted.includes(rule))
    return { findings, diagnostics: [] }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    const message = `The blocking rules failed: ${reason}`
    return { findings: [], diagnostics: [{ kind: 'rule-failed', message, isIncomplete: true }] }
  }
}
