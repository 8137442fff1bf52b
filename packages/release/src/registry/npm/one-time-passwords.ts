/**
 * One-time passwords that a registry asks for, while a person is there to answer.
 *
 *   refused ─┬─ the answer has addresses for a browser ─▶ shown ─▶ asked until the person has logged in
 *            └─ else ─▶ the person types one
 *
 *  OT1  One question at a time, however many uploads are refused: the answer serves all of them.
 *  OT2  A password that was refused is not sent again; one that is newer than the refused one is.
 *  OT3  Without an answer the refusal stands.
 */
import { type Kernel, Patience, systemKernel, type WaitOptions } from '@heddle/core/lowlevel'
import { longestRetryAfter, retryAfterOf } from '../http/backoff.ts'
import type { HttpClient } from '../http/client.ts'
import type { HttpAnswer } from '../http/request.ts'
import { requestWithRetry } from '../http/request-retry.ts'
import { textField } from '../id-token.ts'

/** How a person is asked. */
export interface OtpPrompt {
  /** Undefined when the person does not want to. */
  readonly ask: (registry: string) => Promise<string | undefined>
  /** Shows an address where the person can log in. */
  readonly show: (registry: string, address: string) => void
}

/** Milliseconds that a person has to log in. */
const patienceForLogin = 300_000

export class OneTimePasswords {
  readonly #registry: string
  readonly #prompt: OtpPrompt
  readonly #http: HttpClient
  readonly #kernel: Kernel
  #current: string | undefined
  #asking: Promise<string | undefined> | undefined

  constructor(registry: string, prompt: OtpPrompt, http: HttpClient) {
    this.#registry = registry
    this.#prompt = prompt
    this.#http = http
    this.#kernel = http.kernel ?? systemKernel
  }

  get current(): string | undefined {
    return this.#current
  }

  /** A password instead of the one that was refused with this answer; undefined when there is none. */
  async instead(
    answer: HttpAnswer,
    refused: string | undefined,
    wait: WaitOptions,
  ): Promise<string | undefined> {
    if (this.#current !== undefined && this.#current !== refused) return this.#current
    this.#asking ??= this.#ask(answer, wait).finally(() => (this.#asking = undefined))
    return (this.#current = await this.#asking)
  }

  async #ask(answer: HttpAnswer, wait: WaitOptions): Promise<string | undefined> {
    const address = textField(answer.body, 'authUrl')
    const done = textField(answer.body, 'doneUrl')
    if (address === undefined || done === undefined) return this.#prompt.ask(this.#registry)
    this.#prompt.show(this.#registry, address)
    const what = `the login at ${this.#registry}`
    const patience = new Patience(what, this.#kernel.clock, { deadline: patienceForLogin, ...wait })
    for (;;) {
      const said = await requestWithRetry(
        this.#http,
        { method: 'GET', url: done, action: what },
        patience.options,
      )
      if (said.status === 200) return textField(said.body, 'token')
      if (said.status !== 202) return undefined
      const asked = retryAfterOf(said.headers['retry-after'], this.#kernel.clock.wallTime())
      await patience.pause(Math.min(asked ?? 1_000, longestRetryAfter))
    }
  }
}

/** Whether an answer asks for a one-time password. */
export function asksForOtp({ status, headers, body }: HttpAnswer): boolean {
  if (status !== 401) return false
  const words = `${headers['www-authenticate'] ?? ''} ${body.subarray(0, 4096).toString()}`
  return /one-time pass|\botp\b/i.test(words)
}
