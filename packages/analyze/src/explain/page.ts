/** What `--explain` says about a rule. The reference page is written from the same data. */
import type { FindingClass, Level } from '../finding.ts'

/** One step of the example's interleaving. */
export type PageStep = readonly [task: string, text: string]

export interface RulePage {
  /** `H101`. */
  readonly id: string
  /** The name in two or three words with dashes: `check-then-act`. */
  readonly name: string
  readonly class: FindingClass
  /** The level it has when everything speaks for it; a single finding may have a lower one. */
  readonly level: Level
  /** One line. */
  readonly summary: string
  /** What is reported, exactly enough to predict it. */
  readonly what: string
  /** What happens to people whose code has it. */
  readonly why: string
  /** A module that has it: the analyzer finds it there. */
  readonly race: string
  /** How it goes wrong, step by step. Empty for a rule that needs no second task. */
  readonly steps: readonly PageStep[]
  /** The steps between which the state differs from the code's assumption. */
  readonly window?: readonly [first: number, last: number]
  /** The same module without it: the analyzer is silent. */
  readonly fixed: string
  /** Ways out, the most usual one first. */
  readonly fixes: readonly string[]
}

/** Code in a template literal, without the indentation of the file it is written in. */
export function source(strings: TemplateStringsArray): string {
  const lines = strings.raw[0]!.replace(/^\n/, '').trimEnd().split('\n')
  const indents = lines.filter((line) => line.trim() !== '').map((line) => line.search(/\S/))
  const indent = Math.min(...indents)
  return lines.map((line) => line.slice(indent)).join('\n')
}
