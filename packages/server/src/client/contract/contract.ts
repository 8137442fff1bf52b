/**
 * A route: one entry of the table from which validation, access, OpenAPI, 405 and the typed client are made.
 *
 * This folder is read by browsers too: it imports typebox and nothing else.
 */
import { Type, type Static, type TObject, type TSchema } from 'typebox'

/**
 * Who may call a route. `viewer`, `operator` and `admin` are roles, each with the rights of those before it; `submit` and
 * `worker` are scopes of tokens (an operator may submit, an admin may do everything). On loopback without users every
 * caller has all roles.
 */
export type Access = 'public' | 'viewer' | 'operator' | 'admin' | 'submit' | 'worker'

/** `raw` is a stream that the handler reads; `none` is a request without a body. */
export type BodyKind = 'json' | 'form' | 'raw' | 'none'

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH'

/** A schema is sent as JSON; `sse` is a stream of events; `text` and `bytes` have their own content type. */
export type ResponseKind = TSchema | 'sse' | 'bytes' | 'text'

export interface Contract {
  readonly method: Method
  /** With parameters: `/runs/:id`. */
  readonly path: string
  readonly summary: string
  readonly access: Access
  readonly body: BodyKind
  /** Bytes. 256 kB for JSON and 64 kB for forms when absent; a raw body has the limit that its handler sets. */
  readonly bodyLimit?: number
  readonly params?: TObject
  readonly query?: TObject
  readonly bodySchema?: TSchema
  /** Whether the address holds a secret, which no other page knows: a change needs no CSRF token then. */
  readonly hasSecret?: boolean
  /** Keyed by status; errors need no entry. */
  readonly responses: Readonly<Record<number, ResponseKind>>
}

/** Keeps the literal types of a definition, which the client and the handlers are typed by. */
export function contract<const C extends Contract>(definition: C): C {
  return definition
}

/** `GET /runs/:id` */
export type RouteName<C> = C extends {
  readonly method: infer M extends string
  readonly path: infer P extends string
}
  ? `${M} ${P}`
  : never

export type ParamsOf<C> = C extends { readonly params: infer S extends TSchema }
  ? Static<S>
  : object
export type QueryOf<C> = C extends { readonly query: infer S extends TSchema } ? Static<S> : object
export type RequestBodyOf<C> = C extends { readonly bodySchema: infer S extends TSchema }
  ? Static<S>
  : undefined

/** What the client resolves with: the bodies of all statuses that are not errors. */
export type ResponseBodyOf<C> = C extends { readonly responses: infer R }
  ? ValueOf<R[keyof R]>
  : never

type ValueOf<K> = K extends 'bytes'
  ? Uint8Array
  : K extends 'text'
    ? string
    : K extends 'sse'
      ? never
      : K extends TSchema
        ? Static<K>
        : never

/**
 * Schemas may describe the expected value in words: it ends the sentence "wait: expected …". It is not part of OpenAPI.
 */
export interface Expecting {
  readonly expected?: string
  readonly description?: string
}

/** Option for objects of requests: a misspelt word is refused, and not ignored. */
export const closed = { additionalProperties: false } as const

/** Matches texts that every store keeps unchanged: without U+0000 and without half of a surrogate pair. */
export const storedPattern = '^[^\\0\\uD800-\\uDFFF]*$'

export const storedText = (least: number, most: number) =>
  Type.String({
    minLength: least,
    maxLength: most,
    pattern: storedPattern,
    expected: `a text of ${least} to ${most} characters, well-formed and without U+0000`,
  })

/** Four months: longer waits are mistakes of the unit. */
const mostMilliseconds = 9_999_999_999

export const milliseconds = (least: number, description: string) =>
  Type.Integer({
    minimum: least,
    maximum: mostMilliseconds,
    description,
    expected: `a whole number of milliseconds of at least ${least} and at most ${mostMilliseconds}`,
  })

/** The body of every error. */
export const ErrorBody = Type.Object(
  {
    error: Type.Object({
      code: Type.String(),
      message: Type.String(),
      retryable: Type.Boolean(),
      retry_after_ms: Type.Optional(Type.Integer()),
      stage: Type.Optional(Type.String()),
      reference: Type.Optional(
        Type.String({ description: 'Names the error in the log of the server.' }),
      ),
    }),
  },
  { $id: 'Error' },
)

export type ErrorBody = Static<typeof ErrorBody>
