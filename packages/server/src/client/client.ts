/**
 * Calls a server by the routes of its table: `client.call('GET /results/:handle/:index', { params })`.
 *
 * The name of a route is all that is needed at run time, so a page that uses the client carries no schemas. It works
 * wherever `fetch` is: in browsers and in Node.
 */
import type { Api } from './contract/api.ts'
import type {
  ErrorBody,
  ParamsOf,
  QueryOf,
  RequestBodyOf,
  ResponseBodyOf,
  RouteName,
} from './contract/contract.ts'
import { followEvents, type EventOptions, type ServerEvent } from './events.ts'

/** What `fetch` sends as a body. */
export type RawBody = NonNullable<RequestInit['body']>

export interface ClientOptions {
  /** `http://127.0.0.1:4500`; empty in a page that the server itself has sent. */
  readonly url?: string
  /** The token of `heddle tokens add`. */
  readonly token?: string
  /** Asked for every request: a CSRF token, for example. */
  readonly headers?: () => Readonly<Record<string, string>>
  readonly fetch?: typeof fetch
}

/** The routes by their name. */
export type Routes = { [C in Api as RouteName<C>]: C }
export type Route = keyof Routes

type Needed<Name extends string, T> = keyof T extends never
  ? { [K in Name]?: T }
  : { [K in Name]: T }

type Given<C> = Needed<'params', ParamsOf<C>> & {
  readonly query?: QueryOf<C>
  readonly headers?: Readonly<Record<string, string>>
  /** Ends the request: the server sees that the client is gone. */
  readonly signal?: AbortSignal
} & (C extends { readonly body: 'json' | 'form' }
    ? { readonly body?: RequestBodyOf<C> }
    : C extends { readonly body: 'raw' }
      ? { readonly body?: RawBody; readonly type?: string }
      : object)

export type CallOptions<R extends Route> = Given<Routes[R]>
export type ReplyBody<R extends Route> = ResponseBodyOf<Routes[R]>

export interface Reply<B> {
  readonly status: number
  readonly headers: Headers
  readonly body: B
}

type Optional<R extends Route> =
  object extends CallOptions<R> ? [options?: CallOptions<R>] : [options: CallOptions<R>]

export interface Client {
  /**
   * Resolves with the answer; bytes are read as a whole.
   *
   * *Cancellation*: the signal ends the request.
   * @throws {@link CallError} for every status from 400 on.
   */
  call<R extends Route>(route: R, ...options: Optional<R>): Promise<Reply<ReplyBody<R>>>
  /**
   * The answer as it is, to be streamed by the caller; also when it is an error.
   *
   * *Cancellation*: the signal ends the request.
   */
  open<R extends Route>(route: R, ...options: Optional<R>): Promise<Response>
  /**
   * The events of a stream (`text/event-stream`). After a broken connection it asks again from the last event on, until
   * the signal ends it or the server answers with an error that trying again does not cure.
   *
   * *Cancellation*: the signal ends it without an error.
   */
  events<R extends Route>(
    route: R,
    options: CallOptions<R> & EventOptions,
  ): AsyncGenerator<ServerEvent, void, undefined>
}

/** An answer with a status from 400 on. */
export class CallError extends Error {
  readonly status: number
  readonly code: string
  readonly retryable: boolean
  readonly retryAfterMs: number | undefined
  readonly stage: string | undefined
  /**
   * Reference of a failure of a job or of the server: operators find the error by it (`GET
   * /failures/:reference`).
   */
  readonly reference: string | undefined

  constructor(status: number, error: Partial<ErrorBody['error']>) {
    super(error.message ?? `The server answered with status ${status}.`)
    this.name = 'CallError'
    this.status = status
    this.code = error.code ?? 'unknown'
    this.retryable = error.retryable ?? status >= 500
    this.retryAfterMs = error.retry_after_ms
    this.stage = error.stage
    this.reference = error.reference
  }
}

/** The possible options of every route; the types above say which route takes which. */
interface AnyOptions {
  readonly params?: object
  readonly query?: object
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  readonly body?: unknown
  readonly type?: string
}

/**
 * Makes a client. It opens nothing.
 *
 * @example
 * const client = connect({ url: 'http://127.0.0.1:4500' })
 * typeof client.call // => 'function'
 */
export function connect(options: ClientOptions = {}): Client {
  const { url = '', token, headers, fetch: send = fetch } = options
  const open = (route: string, given: AnyOptions = {}): Promise<Response> => {
    const [method = 'GET', path = ''] = route.split(' ')
    const { body, type } = bodyOf(method, given)
    return send(`${url}${addressOf(path, given)}`, {
      method,
      headers: {
        ...(type !== undefined && { 'content-type': type }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...headers?.(),
        ...given.headers,
      },
      ...(body !== undefined && { body }),
      ...(given.signal !== undefined && { signal: given.signal }),
    })
  }
  const call = async (route: string, given?: AnyOptions): Promise<Reply<unknown>> => {
    const response = await open(route, given)
    if (response.status >= 400) throw await errorOf(response)
    const { status, headers: received } = response
    return { status, headers: received, body: await readBody(response) }
  }
  return {
    call: call as Client['call'],
    open: open,
    events: (route: string, given: AnyOptions & EventOptions) =>
      followEvents(
        (more) => open(route, { ...given, headers: { ...given.headers, ...more } }),
        errorOf,
        given,
      ),
  }
}

function addressOf(path: string, { params = {}, query = {} }: AnyOptions): string {
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent(text((params as Readonly<Record<string, unknown>>)[name])),
  )
  const words = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (Array.isArray(value)) for (const one of value) words.append(name, text(one))
    else if (value !== undefined) words.append(name, text(value))
  }
  return words.size === 0 ? filled : `${filled}?${words.toString()}`
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

interface SentBody {
  readonly body?: RawBody
  readonly type?: string
}

/** A change says that it is JSON also without a body: pages of other sites cannot send that. */
function bodyOf(method: string, { body, type }: AnyOptions): SentBody {
  if (type !== undefined) return { body: body as RawBody, type }
  if (body !== undefined) return { body: JSON.stringify(body), type: 'application/json' }
  return method === 'GET' ? {} : { type: 'application/json' }
}

async function readBody(response: Response): Promise<unknown> {
  const type = response.headers.get('content-type') ?? ''
  if (response.status === 204 || response.status === 304) return undefined
  if (type.startsWith('application/json')) return response.json()
  if (type.startsWith('text/')) return response.text()
  return new Uint8Array(await response.arrayBuffer())
}

async function errorOf(response: Response): Promise<CallError> {
  const body = (await response.json().catch(() => undefined)) as Partial<ErrorBody> | undefined
  return new CallError(response.status, body?.error ?? {})
}
