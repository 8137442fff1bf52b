/** The race rules, in the order in which they are run. */
import type { UnnamedFinding } from '../baseline/fingerprint.ts'
import type { Diagnostic } from '../analysis.ts'
import { toFinding } from './draft.ts'
import type { Draft } from './draft.ts'
import { h101 } from './h101.ts'
import { h102 } from './h102.ts'
import { h103 } from './h103.ts'
import { h104 } from './h104.ts'
import { h201 } from './h201.ts'
import { h202 } from './h202.ts'
import { h203 } from './h203.ts'
import { h204 } from './h204.ts'
import { h301 } from './h301.ts'
import { h302 } from './h302.ts'
import { h303 } from './h303.ts'
import { h304 } from './h304.ts'
import { h305 } from './h305.ts'
import { h306 } from './h306.ts'
import { h307 } from './h307.ts'
import { h401 } from './h401.ts'
import { h402 } from './h402.ts'
import { h403 } from './h403.ts'
import { h404 } from './h404.ts'
import { h405 } from './h405.ts'
import { h501 } from './h501.ts'
import { h502 } from './h502.ts'
import { h503 } from './h503.ts'
import { h504 } from './h504.ts'
import { h505 } from './h505.ts'
import type { Model } from './model.ts'
import { SharedAccesses } from './shared-accesses.ts'

export type Rule = (model: Model) => Draft[]

export const raceRules: ReadonlyMap<string, Rule> = new Map(
  Object.entries({
    H101: h101,
    H102: h102,
    H103: h103,
    H104: h104,
    H201: h201,
    H202: h202,
    H203: h203,
    H204: h204,
    H301: h301,
    H302: h302,
    H303: h303,
    H304: h304,
    H305: h305,
    H306: h306,
    H307: h307,
    H401: h401,
    H402: h402,
    H403: h403,
    H404: h404,
    H405: h405,
    H501: h501,
    H502: h502,
    H503: h503,
    H504: h504,
    H505: h505,
  }),
)

export interface RuleResults {
  readonly findings: readonly UnnamedFinding[]
  readonly diagnostics: readonly Diagnostic[]
}

/** Runs the rules. A rule that fails is told about and does not take the others with it. */
export function runRules(model: Model, wanted?: readonly string[]): RuleResults {
  const findings: UnnamedFinding[] = []
  const diagnostics: Diagnostic[] = []
  const attempt = (name: string, work: () => void): void => {
    try {
      work()
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      diagnostics.push({
        kind: 'rule-failed',
        message: `Rule ${name} failed: ${reason}`,
        isIncomplete: true,
      })
    }
  }
  const drafts = new Map<string, readonly Draft[]>()
  for (const [name, rule] of raceRules)
    if (wanted === undefined || wanted.includes(name))
      attempt(name, () => drafts.set(name, rule(model)))
  const accesses = new SharedAccesses(
    model.summaries.uses,
    drafts
      .values()
      .flatMap((all) => all)
      .flatMap(({ locations }) => locations),
  )
  for (const [name, all] of drafts)
    attempt(name, () => {
      for (const draft of all) findings.push(toFinding(draft, accesses))
    })
  return { findings, diagnostics }
}
