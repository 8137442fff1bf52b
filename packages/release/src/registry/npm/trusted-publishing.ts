/**
 * Trusted publishing of npm: the registry exchanges the identity of a build for a token that may publish
 * one package for a short time. As with the npm client, a registry that does not know the package or the
 * build is not an error: the configured token counts then.
 */
import type { WaitOptions } from '@heddle/core/lowlevel'
import type { HttpClient } from '../http/client.ts'
import { hasIdentity, readIdToken, textField, type Environment } from '../id-token.ts'
import { tokenExchangeUrl } from './urls.ts'

/** Where GitLab puts a token for npm. */
const idTokenVariable = 'NPM_ID_TOKEN'

export class TrustedPublishing {
  readonly #registry: string
  readonly #http: HttpClient
  readonly #env: Environment
  /** Keyed by package: a token is good for one. */
  readonly #tokens = new Map<string, Promise<string | undefined>>()

  constructor(registry: string, http: HttpClient, env: Environment) {
    this.#registry = registry
    this.#http = http
    this.#env = env
  }

  /** Whether this build can prove its identity. Whether the registry trusts it is known at the exchange. */
  get isPossible(): boolean {
    return hasIdentity(this.#env, idTokenVariable)
  }

  /**
   * The token to publish this package with; undefined where there is none.
   *
   * *Cancellation*: leaves nothing behind; the next call asks again.
   */
  async tokenFor(name: string, wait: WaitOptions): Promise<string | undefined> {
    const known = this.#tokens.get(name)
    if (known !== undefined) return known
    const asked = this.#exchange(name, wait)
    this.#tokens.set(name, asked)
    asked.catch(() => this.#tokens.delete(name))
    return asked
  }

  async #exchange(name: string, wait: WaitOptions): Promise<string | undefined> {
    const audience = `npm:${new URL(this.#registry).hostname}`
    const question = { audience, variable: idTokenVariable }
    const identity = await readIdToken(this.#http, this.#env, question, wait)
    if (identity === undefined) return undefined
    const answer = await this.#http.send(
      {
        method: 'POST',
        url: tokenExchangeUrl(this.#registry, name),
        action: `exchanging the identity of this build for a token for ${name}`,
        headers: { accept: 'application/json', authorization: `Bearer ${identity}` },
      },
      wait,
    )
    const isDone = answer.status >= 200 && answer.status < 300
    return isDone ? textField(answer.body, 'token') : undefined
  }
}
