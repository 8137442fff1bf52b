import type { HeddleError } from '@heddle/core'
import type { Kernel, WaitOptions } from '@heddle/core/lowlevel'
import { failureOf, type Asked } from '../error-class.ts'
import type { HttpClient } from '../http/client.ts'
import type { HttpAnswer, HttpRequest } from '../http/request.ts'
import { requestWithRetry } from '../http/retry.ts'

interface NpmRequestsOptions {
  readonly url: string
  readonly http: HttpClient
  readonly kernel: Kernel
  /** The header of that name, for this registry only. */
  readonly authorization: string | undefined
}

/** Requests to one registry, with its token, and errors that name it. */
export class NpmRequests {
  readonly url: string
  readonly kernel: Kernel
  readonly #http: HttpClient
  readonly #authorization: string | undefined

  constructor(options: NpmRequestsOptions) {
    this.url = options.url
    this.kernel = options.kernel
    this.#http = options.http
    this.#authorization = options.authorization
  }

  /** A success, or "not found"; anything else is thrown. */
  async get(request: HttpRequest, wait: WaitOptions): Promise<HttpAnswer> {
    const headers = { accept: 'application/json', 'cache-control': 'no-cache', ...request.headers }
    const sent = { ...request, headers: this.#authorized(headers) }
    const answer = await requestWithRetry(this.#http, sent, wait)
    const { status } = answer
    if (status === 200 || status === 404 || status === 405 || status === 410) return answer
    throw this.failure(answer, request)
  }

  /** One try; only a success is returned. */
  async write(
    request: HttpRequest,
    wait: WaitOptions,
    otp?: string,
    version?: Asked['version'],
  ): Promise<HttpAnswer> {
    const headers = { ...request.headers, ...(otp === undefined ? {} : { 'npm-otp': otp }) }
    const answer = await this.#http.send({ ...request, headers: this.#authorized(headers) }, wait)
    if (answer.status >= 200 && answer.status < 300) return answer
    throw this.failure(answer, request, version)
  }

  failure(answer: HttpAnswer, request: HttpRequest, version?: Asked['version']): HeddleError {
    const asked: Asked = {
      registry: this.url,
      action: request.action ?? request.method,
      write: request.method !== 'GET',
      ...(version === undefined ? {} : { version }),
    }
    return failureOf(this.#withoutSecret(answer), asked, this.kernel.clock.wallTime())
  }

  /** Servers repeat what they refuse, and what they say is printed and kept. */
  #withoutSecret(answer: HttpAnswer): HttpAnswer {
    const secret = this.#authorization?.replace(/^\w+ /, '')
    const text = answer.body.toString()
    if (secret === undefined || !text.includes(secret)) return answer
    return { ...answer, body: Buffer.from(text.replaceAll(secret, '[secret]')) }
  }

  #authorized(headers: Readonly<Record<string, string>>): Record<string, string> {
    const authorization = this.#authorization
    const base = { 'user-agent': 'heddle-release', ...headers }
    return authorization === undefined ? base : { ...base, authorization }
  }
}
