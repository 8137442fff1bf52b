import {
  planCsv,
  planJson,
  planLevels,
  planMermaid,
  planTable,
  RegistryQuestions,
  releaseProblems,
  type ReleasePlan,
} from '@heddle/release'
import type { Typed } from './release-flags.ts'
import type { PlanFlags } from './flag-types.ts'
import { exitCodes } from '../exit-codes.ts'
import { answering } from './answering.ts'
import { readPlan, registriesFor } from './plan-source.ts'

export type PlanFormat = 'table' | 'json' | 'mermaid' | 'levels' | 'csv'

export interface PrintPlanFlags extends PlanFlags {
  readonly format: PlanFormat
  readonly offline?: boolean
}

type Published = ReadonlyMap<string, boolean> | undefined

/** Milliseconds: a plan is shown soon, with or without the registry. */
const deadline = 10_000

export async function printPlan(typed: Typed<PrintPlanFlags>): Promise<void> {
  await answering(typed, async ({ flags, out, warn, settings: read }) => {
    const settings = await read()
    const format = flags.json === true ? 'json' : flags.format
    let plan: ReleasePlan
    let published: Published
    if (flags.offline === true) {
      plan = await readPlan(flags, settings)
    } else {
      await using registries = await registriesFor(settings, flags)
      const questions = new RegistryQuestions(registries.registryOf)
      // What is needed and left out must be there, as for a release; where that is not known, publishing finds out.
      plan = await readPlan(flags, settings, async (of, version, wait) => {
        return (await questions.isThere(of, version, { ...wait, deadline })) ?? true
      })
      const isShown = format === 'json' || format === 'table'
      if (isShown) published = await questions.published(plan, { deadline })
      for (const url of questions.silent)
        warn(`${url} does not answer: published versions are not shown`)
    }
    out.line(formatted(plan, format, published).trimEnd())
    const problems = releaseProblems(plan)
    // The table and the object have them.
    if (format !== 'table' && format !== 'json') {
      for (const { package: name, problem } of problems)
        warn(`${name} cannot be released: ${problem}`)
    }
    return problems.length === 0 ? exitCodes.ok : exitCodes.usage
  })
}

function formatted(plan: ReleasePlan, format: PlanFormat, published: Published): string {
  switch (format) {
    case 'json':
      return JSON.stringify(planJson(plan, published))
    case 'mermaid':
      return planMermaid(plan)
    case 'csv':
      return planCsv(plan)
    case 'levels':
      return planLevels(plan)
        .map((names, level) => `${level}  ${names.join(', ')}`)
        .join('\n')
    case 'table': {
      const width = process.stdout.columns ?? Infinity
      return planTable(plan, { width, ...(published !== undefined && { published }) })
    }
  }
}
