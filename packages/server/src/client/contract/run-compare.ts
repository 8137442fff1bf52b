/** A run beside another one, with another concurrency, or in the format of another tool. */
import { Type, type Static } from 'typebox'
import { contract, closed } from './contract.ts'
import { RunSummarySchema } from './run-list.ts'
import { nodeStates } from './run-states.ts'
import { RunParams, orNull, view } from './run-words.ts'

const CompareQuery = Type.Object({ with: Type.String({ minLength: 1, maxLength: 256 }) }, closed)

const ChangeSchema = Type.Object({
  before: Type.Number(),
  now: Type.Number(),
  change: Type.Number(),
  percent: orNull(Type.Number()),
})

/** GET /runs/:id/compare?with=: from `with` (before) to `id` (now). Lists hold at most 1,000 entries. */
export const ComparisonSchema = Type.Object({
  before: RunSummarySchema,
  now: RunSummarySchema,
  total: ChangeSchema,
  critical_path: ChangeSchema,
  nodes: Type.Array(
    Type.Object({ ...ChangeSchema.properties, node: Type.String(), effect: orNull(Type.Number()) }),
  ),
  nodes_more: Type.Integer(),
  same: Type.Integer(),
  graph: Type.Array(
    Type.Object({
      kind: Type.Enum(['added', 'removed', 'job', 'dependencies', 'input', 'option', 'version']),
      node: Type.String(),
      text: Type.String(),
    }),
  ),
  graph_more: Type.Integer(),
  outcomes: Type.Array(
    Type.Object({
      node: Type.String(),
      before: Type.Enum([...nodeStates]),
      now: Type.Enum([...nodeStates]),
    }),
  ),
  outcomes_more: Type.Integer(),
  limits: Type.Array(
    Type.Object({ limit: Type.String(), before: Type.Unknown(), now: Type.Unknown() }),
  ),
})

export type RunComparison = Static<typeof ComparisonSchema>

const ForecastQuery = Type.Object(
  { concurrency: Type.Integer({ minimum: 1, maximum: 1_000_000 }) },
  closed,
)

/** GET /runs/:id/forecast?concurrency=8: the duration of the run, simulated with its own durations. */
const ForecastSchema = Type.Object({
  duration_ms: Type.Number(),
  recorded_ms: Type.Number(),
  /** No concurrency makes it shorter than this. */
  critical_path_ms: Type.Number(),
})

export type Forecast = Static<typeof ForecastSchema>

/** What `GET /runs/:id/export/:format` makes: a Chrome trace, a drawing, all rows, the graph. */
export const exportFormats = ['trace', 'mermaid', 'rows', 'graph', 'html', 'test'] as const

const ExportParams = Type.Object(
  {
    id: Type.String({ minLength: 1, maxLength: 256 }),
    format: Type.Enum([...exportFormats]),
  },
  closed,
)

export const compareWith = contract({
  ...view,
  method: 'GET',
  path: '/runs/:id/compare',
  summary: 'What changed since another run',
  params: RunParams,
  query: CompareQuery,
  responses: { 200: ComparisonSchema },
})

export const forecastRun = contract({
  ...view,
  method: 'GET',
  path: '/runs/:id/forecast',
  summary: 'How long the run would have taken with another concurrency',
  params: RunParams,
  query: ForecastQuery,
  responses: { 200: ForecastSchema },
})

export const exportRun = contract({
  ...view,
  method: 'GET',
  path: '/runs/:id/export/:format',
  summary:
    'The run in a format of another tool, as one HTML page, or as a test that plays it again',
  params: ExportParams,
  responses: { 200: 'text' },
})
