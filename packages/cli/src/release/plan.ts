import {
  planCsv,
  planJson,
  planLevels,
  planMermaid,
  planTable,
  type ReleasePlan,
} from '@heddle/release'
import type { PlanFlags } from '../commands/release.ts'
import { exitCodes } from '../exit-codes.ts'
import { answering } from './answering.ts'
import { readPlan } from './plan-source.ts'

export type PlanFormat = 'table' | 'json' | 'mermaid' | 'levels' | 'csv'

export async function printPlan(flags: PlanFlags & { readonly format: PlanFormat }): Promise<void> {
  await answering(flags, async ({ out }) => {
    const plan = await readPlan(flags)
    out.line(formatted(plan, flags.json === true ? 'json' : flags.format).trimEnd())
    return exitCodes.ok
  })
}

function formatted(plan: ReleasePlan, format: PlanFormat): string {
  switch (format) {
    case 'json':
      return JSON.stringify(planJson(plan))
    case 'mermaid':
      return planMermaid(plan)
    case 'csv':
      return planCsv(plan)
    case 'levels':
      return planLevels(plan)
        .map((names, level) => `${level}  ${names.join(', ')}`)
        .join('\n')
    case 'table': {
      const warnings = (plan.warnings ?? []).map((text) => `warning: ${text}`)
      return [planTable(plan, { width: process.stdout.columns ?? Infinity }), ...warnings].join(
        '\n',
      )
    }
  }
}
