import { validateHeaderValue } from 'node:http'
import type { HeddleError } from '@heddle/core'
import type { Kernel, WaitOptions } from '@heddle/core/lowlevel'
import { lookAtArchive } from '../archive.ts'
import { failureOf, type Asked } from '../error-class.ts'
import { parseAnswer } from '../http/answer.ts'
import type { HttpClient } from '../http/client.ts'
import type { HttpAnswer, HttpRequest } from '../http/request.ts'
import { readWithRetry, requestWithRetry } from '../http/request-retry.ts'
import type { Account, ArchiveStanding } from '../registry.ts'
import { asksForOtp, OneTimePasswords, type OtpPrompt } from './one-time-passwords.ts'

interface NpmRequestsOptions {
  readonly url: string
  readonly http: HttpClient
  readonly kernel: Kernel
  /** The header of that name, for this registry only. */
  readonly authorization: string | undefined
  /** How the user is asked for a one-time password. Absent: never. */
  readonly prompt?: OtpPrompt | undefined
}

interface WriteOptions {
  readonly otp?: string | undefined
  /** Instead of the configured one: a token for one package. */
  readonly token?: string | undefined
  /** The written version, if it is a version. */
  readonly version?: Asked['version'] | undefined
}

/** The answers of registries that do not have a document. */
/** The registry that takes no anonymous upload. Others may. */
const publicHost = 'registry.npmjs.org'

const notFound = new Set([404, 405, 410])

/** Requests to one registry, with its token, and errors that name it. */
export class NpmRequests {
  readonly url: string
  readonly kernel: Kernel
  readonly #http: HttpClient
  readonly #authorization: string | undefined
  readonly #passwords: OneTimePasswords | undefined

  constructor(options: NpmRequestsOptions) {
    this.url = options.url
    this.kernel = options.kernel
    this.#http = options.http
    this.#authorization = options.authorization
    const { url, prompt, http } = options
    this.#passwords = prompt === undefined ? undefined : new OneTimePasswords(url, prompt, http)
  }

  /** A success, or "not found"; anything else is thrown. */
  get(request: HttpRequest, wait: WaitOptions): Promise<HttpAnswer> {
    return this.read(request, wait, (answer) => answer)
  }

  /** What `use` makes of a success or of "not found". An answer that it cannot read is asked for again. */
  async read<T>(
    request: HttpRequest,
    wait: WaitOptions,
    use: (answer: HttpAnswer) => T | Promise<T>,
  ): Promise<T> {
    const headers = { accept: 'application/json', 'cache-control': 'no-cache', ...request.headers }
    const sent = { ...request, headers: this.#authorized(headers) }
    const read = await readWithRetry(this.#http, sent, wait, async (answer) => {
      if (answer.status === 200) {
        return { value: await parseAnswer(answer, this.url, () => use(answer)) }
      }
      return notFound.has(answer.status) ? { value: await use(answer) } : { refused: answer }
    })
    if ('value' in read) return read.value
    throw this.failure(read.refused, request)
  }

  /** Whatever the registry answers, but for failures that may pass. */
  async ask(url: string, action: string, wait: WaitOptions): Promise<HttpAnswer> {
    const request: HttpRequest = { method: 'GET', url, action }
    const headers = this.#authorized({ accept: 'application/json' })
    const answer = await requestWithRetry(this.#http, { ...request, headers }, wait)
    if (answer.status >= 500) throw this.failure(answer, request)
    return answer
  }

  /** The token goes to the registry only, not to the host that stores its archives. */
  archive(address: string, expected: string, wait: WaitOptions): Promise<ArchiveStanding> {
    const registry = new URL(this.url)
    const url = URL.parse(address, registry.href)
    if (url === null || !/^https?:$/.test(url.protocol)) {
      const found = `an archive at ${address}, which is not an address of HTTP`
      return Promise.resolve({ is: 'different', expected, found })
    }
    // Metadata of registries behind https often has http.
    if (url.host === registry.host) url.protocol = registry.protocol
    const headers = url.origin === registry.origin ? this.#authorized({}) : {}
    const failure = (answer: HttpAnswer, request: HttpRequest): HeddleError =>
      this.failure(answer, request)
    return lookAtArchive(this.#http, { url: url.href, expected, headers, failure }, wait)
  }

  async account(wait: WaitOptions): Promise<Account> {
    if (this.#authorization === undefined) {
      if (new URL(this.url).hostname !== publicHost) return { is: 'unknown' }
      const problem = `there is no token for ${this.url}, and it takes no uploads without one`
      const todo =
        'Log in with `npm login`, set the token in .npmrc, or publish from a build service that the registry trusts.'
      return { is: 'anonymous', problem, todo }
    }
    if (!isHeaderValue(this.#authorization)) {
      const problem = `the token of ${this.url} has a character that no request can carry, such as a line break`
      return {
        is: 'refused',
        problem,
        todo: 'Set it again, without quotes and line breaks around it.',
      }
    }
    const answer = await this.ask(new URL('-/whoami', this.url).href, 'GET whoami', wait)
    if (answer.status === 401 || answer.status === 403) {
      const problem = `${this.url} does not know the token (status ${answer.status})`
      return { is: 'refused', problem, todo: 'Log in again, or renew the token.' }
    }
    const user = answer.status === 200 ? fieldsOf(answer)['username'] : undefined
    if (typeof user !== 'string') return { is: 'unknown' }
    const profile = await this.ask(new URL('-/npm/v1/user', this.url).href, 'GET profile', wait)
    const tfa = profile.status === 200 ? fieldsOf(profile)['tfa'] : undefined
    const mode = typeof tfa === 'object' && tfa !== null ? (tfa as { mode?: unknown }).mode : tfa
    return { is: 'known', user, asksForOtp: mode === 'auth-and-writes' }
  }

  /** One try, and one more for each new one-time password; only a success is returned. */
  async write(
    request: HttpRequest,
    wait: WaitOptions,
    { otp, token, version }: WriteOptions = {},
  ): Promise<HttpAnswer> {
    const passwords = this.#passwords
    let password = passwords?.current ?? otp
    for (;;) {
      const headers = {
        ...request.headers,
        ...(password !== undefined && { 'npm-otp': password }),
        ...(passwords !== undefined && { 'npm-auth-type': 'web' }),
      }
      const authorized = {
        ...this.#authorized(headers),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      }
      const answer = await this.#http.send({ ...request, headers: authorized }, wait)
      if (answer.status >= 200 && answer.status < 300) return answer
      // A refusal: nothing was written.
      const next = asksForOtp(answer) ? await passwords?.instead(answer, password, wait) : undefined
      if (next === undefined) throw this.failure(answer, request, version)
      password = next
    }
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

  /** Servers repeat refused values, and their messages are printed and kept. */
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

/** Secrets of build services often end with a line break. */
function isHeaderValue(value: string): boolean {
  try {
    validateHeaderValue('authorization', value)
    return true
  } catch {
    return false
  }
}

/** The fields of an answer; none when it is something else, as the page of a proxy. */
export function fieldsOf({ body }: HttpAnswer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body.toString())
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
