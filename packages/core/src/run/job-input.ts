/** Makes the inputs of jobs, checks them by their schemas, and runs jobs with them. */
import { redactTexts } from '../attempts/attempt.ts'
import { final } from '../attempts/retry.ts'
import { isError } from '../errors.ts'
import type { Job } from '../graph/job.ts'
import { redactError, textRedaction, type Redact } from '../graph/redact.ts'
import { validateInput } from '../graph/input-schema.ts'
import { isThenable } from '../kernel/call.ts'
import type { Place, PlaceContext } from '../places/place.ts'
import { reader, type PlacedNode, type ResultOf } from './placed.ts'

/**
 * Calls `use` with the input of a node. A promise of an input function is awaited once, for
 * `needs` and for the job; an input that is not made by a function is passed unchanged.
 */
export function withInput(
  { node: { input }, scope }: PlacedNode,
  resultOf: ResultOf,
  use: (input: unknown) => unknown,
): unknown {
  if (typeof input !== 'function') return use(input)
  return withValue(input(reader(scope, resultOf)), use)
}

/** Calls `use` with a value, or with the result of a promise. */
export function withValue(value: unknown, use: (value: unknown) => unknown): unknown {
  return isThenable(value) ? Promise.resolve(value).then(use) : use(value)
}

/** Runs a job at its place, with an input that its schema has checked. */
export function runJob(job: Job, input: unknown, place: Place, context: PlaceContext): unknown {
  // Most jobs have neither: nothing is made for them.
  if (job.redact === undefined && job.input === undefined) return place.run(job, input, context)
  const call = (): unknown =>
    withValidInput(context.name, job, input, (checked) => place.run(job, checked, context))
  return job.redact === undefined ? call() : runRedacted(job.redact, input, context, call)
}

/** Logs, reports and errors of the job are redacted before they are passed on. */
function runRedacted(
  redact: Redact,
  input: unknown,
  context: PlaceContext,
  call: () => unknown,
): unknown {
  const redactText = textRedaction(redact, input)
  redactTexts(context, redactText)
  const fail = (error: unknown): never => {
    throw redactError(error, redactText)
  }
  let result: unknown
  try {
    result = call()
  } catch (error) {
    return fail(error)
  }
  return isThenable(result) ? Promise.resolve(result).then(undefined, fail) : result
}

/** Calls `use` with the schema's output for an input. A wrong input stays wrong: it is not tried again. */
export function withValidInput(
  node: string,
  { input: schema }: Job,
  input: unknown,
  use: (checked: unknown) => unknown,
): unknown {
  if (schema === undefined) return use(input)
  const refuse = (error: unknown): never => {
    throw isError(error, 'HDL_WRONG_INPUT') ? final(error) : error
  }
  let checked: unknown
  try {
    checked = validateInput(node, schema, input)
  } catch (error) {
    return refuse(error)
  }
  return isThenable(checked) ? Promise.resolve(checked).then(use, refuse) : use(checked)
}
