/** Schemas of inputs, as zod, valibot and others have them: the Standard Schema interface, version 1. */
import { HeddleError, describe, isError } from '../errors.ts'
import { isThenable } from '../kernel/call.ts'

/** What a schema says of a wrong value. */
interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

type SchemaResult<O> =
  | { readonly value: O; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

/** Any schema that follows https://standardschema.dev: its output type and its input type. */
export interface InputSchema<out O = unknown, out I = O> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<O> | Promise<SchemaResult<O>>
    /**
     * JSON Schema converters, for schemas that follow https://standardschema.dev/json-schema too.
     */
    readonly jsonSchema?:
      | { readonly input: (options: { readonly target: string }) => Record<string, unknown> }
      | undefined
    readonly types?: { readonly input: I; readonly output: O } | undefined
  }
}

/** @throws `HDL_BAD_OPTION`. */
export function checkSchema(schema: InputSchema): void {
  if (typeof schema?.['~standard']?.validate === 'function') return
  const expected = 'a schema that follows the Standard Schema interface'
  throw new HeddleError('HDL_BAD_OPTION', { option: 'input', value: schema, expected })
}

/** A schema as JSON Schema, for forms and documents. Undefined when it has none. */
export function jsonSchemaOf(schema: InputSchema): Readonly<Record<string, unknown>> | undefined {
  try {
    return schema['~standard'].jsonSchema?.input({ target: 'draft-2020-12' })
  } catch {
    // A schema with a transform, or of a type that JSON does not have.
    return undefined
  }
}

/** How many wrong fields one error names, with how many keys of their path and how many characters each. */
export const namedIssues = 20
const namedKeys = 20
const longestIssue = 200

/**
 * The input that the schema returns. A promise when the schema is asynchronous: the caller sets a limit.
 * @throws `HDL_WRONG_INPUT` with the path of each wrong field; `HDL_SCHEMA_FAILED` for a schema that throws, or gives
 * no result.
 */
export function validateInput(node: string, schema: InputSchema, input: unknown): unknown {
  const fail = (cause: unknown): never => {
    if (isError(cause, 'HDL_WRONG_INPUT') || isError(cause, 'HDL_SCHEMA_FAILED')) throw cause
    throw new HeddleError('HDL_SCHEMA_FAILED', { node, reason: describe(cause) }, { cause })
  }
  try {
    const result = schema['~standard'].validate(input)
    if (!isThenable(result)) return takeResult(node, result)
    const take = (late: SchemaResult<unknown>): unknown => takeResult(node, late)
    return Promise.resolve(result).then(take).catch(fail)
  } catch (error) {
    return fail(error)
  }
}

function takeResult(node: string, result: SchemaResult<unknown>): unknown {
  const isResult = typeof result === 'object' && result !== null
  if (isResult && result.issues === undefined) return result.value
  if (!isResult || !Array.isArray(result.issues)) {
    const reason = 'it returned neither a value nor a list of issues'
    throw new HeddleError('HDL_SCHEMA_FAILED', { node, reason })
  }
  const all = result.issues as readonly SchemaIssue[]
  const issues = all.slice(0, namedIssues).map(describeIssue)
  const more = all.length - issues.length
  if (issues.length === 0) issues.push('its schema gives no reason')
  throw new HeddleError('HDL_WRONG_INPUT', { node, issues, ...(more > 0 && { more }) })
}

function describeIssue(issue: SchemaIssue): string {
  const given: { readonly path?: unknown; readonly message?: unknown } = issue ?? {}
  const where = given.path ?? []
  const path = (Array.isArray(where) ? where : [where]) as NonNullable<SchemaIssue['path']>
  const keys = Array.from(path.slice(0, namedKeys), (part) =>
    String(typeof part === 'object' ? part?.key : part),
  )
  if (path.length > namedKeys) keys.push('…')
  const said = String(given.message)
  const text = keys.length === 0 ? said : `${keys.join('.')}: ${said}`
  return text.length <= longestIssue ? text : `${text.slice(0, longestIssue)}…`
}
