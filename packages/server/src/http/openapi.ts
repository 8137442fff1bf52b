/** The table of routes as OpenAPI 3.1. */
import type { Contract, ResponseKind } from '../client/contract/contract.ts'
import { ErrorBody } from '../client/contract/contract.ts'

type Json = Readonly<Record<string, unknown>>

export interface OpenApi {
  readonly openapi: string
  readonly info: Json
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>
  readonly components: { readonly schemas: Json }
}

const requestHeaders = [
  {
    name: 'X-Request-Id',
    in: 'header',
    description:
      'Names the request, so that it can be cancelled while it waits. Without it the request gets an id that cannot be guessed.',
    schema: { type: 'string', maxLength: 128 },
  },
  {
    name: 'X-Deadline-Ms',
    in: 'header',
    description: "The client's own limit; the smaller of it and the server's counts.",
    schema: { type: 'integer', minimum: 1 },
  },
]

const mediaTypes = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
  raw: '*/*',
}

export function openApiOf(contracts: readonly Contract[], version: string): OpenApi {
  const schemas: Record<string, unknown> = {}
  /** Without the words that are ours alone; schemas with a name become components. */
  const plain = (value: unknown, isTop = false): unknown => {
    if (Array.isArray(value)) return value.map((one) => plain(one))
    if (typeof value !== 'object' || value === null) return value
    const { $id, expected: _, ...rest } = value as { $id?: string; expected?: string }
    const copy = Object.fromEntries(Object.entries(rest).map(([key, one]) => [key, plain(one)]))
    if ($id === undefined || isTop) return copy
    schemas[$id] = copy
    return { $ref: `#/components/schemas/${$id}` }
  }
  const error = {
    description: 'What went wrong, and whether trying again can help.',
    content: { 'application/json': { schema: plain(ErrorBody) } },
  }
  const paths: Record<string, Record<string, Json>> = {}
  for (const contract of contracts) {
    const path = contract.path.replaceAll(/:(\w+)/g, '{$1}')
    const { method, summary, access, body, bodySchema, responses } = contract
    const operation: Json = {
      summary,
      'x-access': access,
      parameters: [
        ...parametersOf(contract.params, 'path', plain),
        ...parametersOf(contract.query, 'query', plain),
        ...(contract.query === undefined ? [] : requestHeaders),
      ],
      ...(body !== 'none' && {
        requestBody: { content: { [mediaTypes[body]]: { schema: plain(bodySchema ?? {}) } } },
      }),
      responses: {
        ...Object.fromEntries(
          Object.entries(responses).map(([status, kind]) => [status, responseOf(kind, plain)]),
        ),
        default: error,
      },
    }
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Heddle',
      version,
      description:
        'A change (POST, PUT, PATCH) with a JSON body, or without one, says that it is JSON.',
    },
    paths,
    components: { schemas },
  }
}

type Plain = (value: unknown) => unknown

function parametersOf(schema: unknown, place: 'path' | 'query', plain: Plain): Json[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Readonly<Record<string, { readonly description?: string }>>
    required?: readonly string[]
  }
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: place,
    ...((place === 'path' || required.includes(name)) && { required: true }),
    ...(description !== undefined && { description }),
    schema: plain(rest),
  }))
}

function responseOf(kind: ResponseKind, plain: Plain): Json {
  switch (kind) {
    case 'sse':
      return { description: 'Events.', content: { 'text/event-stream': {} } }
    case 'text':
      return { description: 'Text.', content: { 'text/plain': {} } }
    case 'bytes':
      return { description: 'Bytes, with their own content type.', content: { '*/*': {} } }
    default:
      return {
        description: (kind as { description?: string }).description ?? 'The answer.',
        content: { 'application/json': { schema: plain(kind) } },
      }
  }
}
