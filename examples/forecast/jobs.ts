/**
 * A forecasting service in two stages: the first reads an upload, checks it and learns from it, once for all plots; the second draws
 * one fan chart for each moment from which one can look ahead. Both compute, so both run in threads; nothing else in here
 * depends on that.
 */
import { job } from '@heddle/core'
import { seededRandom } from '@heddle/core/lowlevel'
import { serveJob, type ItemInput } from '@heddle/server'
import { fanChart } from './chart.ts'
import { leastValues, makeDataset, type Dataset } from './dataset.ts'
import { fit, forecast as drawPaths, type Fan, type Model } from './model.ts'
import { onnxModel, type Predict } from './onnx.ts'
import { readUpload } from './upload.ts'

/** Values before the moment that a plot shows, and how many it looks ahead. */
const shown = 24
const ahead = 12
const draws = 1_000
/** Plots of a whole computation, if the series is long enough. */
const whole = 24

export interface Request {
  /** The file as the vendor's app wrote it. */
  readonly csv: string
  /** How many moments are drawn, from the newest back. All that the service draws when absent; 1 is the quick plot. */
  readonly plots?: number
  /** How carefully the spread is calibrated. */
  readonly rounds?: number
}

interface Learnt {
  readonly dataset: Dataset
  readonly model: Model
}

const learn = job(
  { name: 'learn', place: 'thread', module: import.meta.url },
  ({ csv, rounds = 300 }: Request, context): Learnt => {
    const dataset = makeDataset(readUpload(csv))
    const model = fit(dataset.values, rounds, () => {
      // Code that never awaits sees here that nobody waits for it any more.
      if (context.cancelled) throw new Error('nobody waits for this forecast')
    })
    const { quality, values } = dataset
    const percent = Math.round(100 * model.coverage)
    context.log(`${quality.format}: ${values.length} values, ${percent} % in the widest band`)
    return { dataset, model }
  },
)

let predict: Promise<Predict> | undefined

/**
 * Uses the model in the file that FORECAST_MODEL names, loaded once per thread, or else the learnt
 * model.
 */
async function fanOf({ model }: Learnt, history: readonly number[]): Promise<Fan> {
  const file = process.env['FORECAST_MODEL']
  if (file === undefined) {
    return drawPaths(model, history, ahead, draws, seededRandom(history.length))
  }
  predict ??= onnxModel(file)
  return (await predict)(history, ahead)
}

const plot = job(
  { name: 'plot', place: 'thread', module: import.meta.url },
  async ({ prepared, index }: ItemInput<Learnt>): Promise<string> => {
    const { values, step } = prepared.dataset
    const history = values.slice(0, values.length + index)
    const fan = await fanOf(prepared, history)
    const title = `${ahead * step} minutes ahead of value ${history.length} of ${values.length}`
    return fanChart(history.slice(-shown), fan, title)
  },
)

export const forecast = serveJob({
  name: 'forecast',
  prepare: learn,
  item: plot,
  // 0 looks ahead from the newest value, -1 from the one before it, and so on.
  total: ({ plots = whole }: Request) => plots,
  check,
  // A request for one plot is answered by a computation of many, and is followed by one.
  superset: {
    same: ({ csv, rounds }: Request) => [csv, rounds ?? null],
    size: ({ plots = whole }: Request) => plots,
  },
  prefetch: {
    input: ({ plots = whole, ...rest }: Request) => (plots < whole ? rest : undefined),
  },
})

/** What the upload is worth: format, gaps, duplicates, values that cannot be. */
export const quality = job(
  { name: 'quality', place: 'thread', module: import.meta.url },
  ({ csv }: Request) => makeDataset(readUpload(csv)).quality,
)

/** On the loop, for every submit: the first lines only. The thread looks at all of them. */
function check(input: unknown): string | undefined {
  const { csv, plots = whole, rounds = 1 } = (input ?? {}) as Partial<Request>
  if (typeof csv !== 'string') return 'expected { "csv": "time,value\\n…" }.'
  const isCount = (n: unknown): boolean => Number.isInteger(n) && (n as number) >= 1
  if (!isCount(plots) || plots > whole) return `"plots" is a whole number from 1 to ${whole}.`
  if (!isCount(rounds)) return '"rounds" is a whole number of at least 1.'
  try {
    readUpload(csv.slice(0, 2_000))
  } catch (error) {
    return (error as Error).message
  }
  const lines = csv.split('\n', leastValues + 2).length - 1
  return lines < leastValues
    ? `expected at least ${leastValues} readings, got ${lines}.`
    : undefined
}
