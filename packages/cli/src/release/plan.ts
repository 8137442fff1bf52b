import {
  planCsv,
  planJson,
  planLevels,
  planMermaid,
  planTable,
  publishedVersions,
  type ReleasePlan,
} from '@heddle/release'
import type { PlanFlags } from '../commands/release.ts'
import { exitCodes } from '../exit-codes.ts'
import { answering } from './answering.ts'
import { readPlan, registriesFor } from './plan-source.ts'
import type { ReleaseSettings } from './settings.ts'

export type PlanFormat = 'table' | 'json' | 'mermaid' | 'levels' | 'csv'

export interface PrintPlanFlags extends PlanFlags {
  readonly format: PlanFormat
  readonly offline?: boolean
}

type Published = ReadonlyMap<string, boolean> | undefined

export async function printPlan(flags: PrintPlanFlags): Promise<void> {
  await answering(flags, async ({ out, warn, settings: read }) => {
    const settings = await read()
    const plan = await readPlan(flags, settings)
    const format = flags.json === true ? 'json' : flags.format
    const isShown = format === 'json' || format === 'table'
    const published =
      isShown && flags.offline !== true
        ? await askRegistries(plan, settings, flags, warn)
        : undefined
    out.line(formatted(plan, format, published).trimEnd())
    return exitCodes.ok
  })
}

/** Milliseconds: a plan is shown soon, with or without the registry. */
const patience = 10_000

async function askRegistries(
  plan: ReleasePlan,
  settings: ReleaseSettings,
  flags: PlanFlags,
  warn: (text: string) => void,
): Promise<Published> {
  await using registries = await registriesFor(settings, flags)
  const { registryOf } = registries
  const { published, silent } = await publishedVersions(plan, registryOf, { deadline: patience })
  for (const url of silent) warn(`${url} does not answer: published versions are not shown`)
  return published
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
