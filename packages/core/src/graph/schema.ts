/** Schemas of inputs, as zod, valibot and others have them: the Standard Schema interface, version 1. */
import { HeddleError } from '../errors.ts'
import { isThenable } from '../kernel/call.ts'

/** What a schema says of a wrong value. */
interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

type SchemaResult<O> =
  | { readonly value: O; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

/** Any schema that follows https://standardschema.dev. */
export interface InputSchema<O = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<O> | Promise<SchemaResult<O>>
    readonly types?: { readonly input: unknown; readonly output: O } | undefined
  }
}

/** @throws `HDL_BAD_OPTION`. */
export function checkSchema(schema: InputSchema): void {
  if (typeof schema?.['~standard']?.validate === 'function') return
  const expected = 'a schema that follows the Standard Schema interface'
  throw new HeddleError('HDL_BAD_OPTION', { option: 'input', value: schema, expected })
}

/** How many wrong fields are named. */
const namedIssues = 5

/**
 * The input as the schema gives it back. A promise when the schema takes time.
 * @throws `HDL_WRONG_INPUT` with the path of each wrong field.
 */
export function validateInput(node: string, schema: InputSchema, input: unknown): unknown {
  const result = schema['~standard'].validate(input)
  if (isThenable(result)) {
    return Promise.resolve(result).then((late) => takeResult(node, late))
  }
  return takeResult(node, result)
}

function takeResult(node: string, result: SchemaResult<unknown>): unknown {
  if (result.issues === undefined) return result.value
  const issues = result.issues.slice(0, namedIssues).map(describeIssue)
  const more = result.issues.length - issues.length
  if (more > 0) issues.push(`and ${more} more`)
  throw new HeddleError('HDL_WRONG_INPUT', { node, issues })
}

function describeIssue({ path = [], message }: SchemaIssue): string {
  const keys = path.map((part) => String(typeof part === 'object' ? part.key : part))
  return keys.length === 0 ? message : `${keys.join('.')}: ${message}`
}
