/** The race rules, in the order in which they are run. */
import type { UnnamedFinding } from '../baseline/fingerprint.ts'
import type { Diagnostic } from '../analysis.ts'
import { toFinding } from './draft.ts'
import type { Draft } from './draft.ts'
import { h101 } from './h101.ts'
import type { Model } from './model.ts'

export type Rule = (model: Model) => Draft[]

export const raceRules: ReadonlyMap<string, Rule> = new Map([['H101', h101]])

export interface RuleResults {
  readonly findings: readonly UnnamedFinding[]
  readonly diagnostics: readonly Diagnostic[]
}

/** Runs the rules. A rule that fails is told about and does not take the others with it. */
export function runRules(model: Model, wanted?: readonly string[]): RuleResults {
  const findings: UnnamedFinding[] = []
  const diagnostics: Diagnostic[] = []
  for (const [name, rule] of raceRules) {
    if (wanted !== undefined && !wanted.includes(name)) continue
    try {
      for (const draft of rule(model)) findings.push(toFinding(model, draft))
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      diagnostics.push({
        kind: 'rule-failed',
        message: `Rule ${name} failed: ${reason}`,
        isIncomplete: true,
      })
    }
  }
  return { findings, diagnostics }
}
