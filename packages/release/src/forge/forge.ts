/**
 * A place where releases are announced with notes: GitHub or GitLab. Users may implement it for others.
 *
 *  F1  A release is announced once, however often it is asked for: an existing one is searched for first, and
 *      again after an answer that got lost.
 *  F2  An existing release is not changed: people edit notes.
 *  F3  A release counts as announced when it can be read back, whatever the answer was.
 */
import { HeddleError } from '@heddle/core'
import { systemKernel, type Kernel, type WaitOptions } from '@heddle/core/lowlevel'
import { runGit } from '../git/run-git.ts'
import { converge } from '../registry/converge.ts'
import { failureOf } from '../registry/error-class.ts'
import { HttpClient } from '../registry/http/client.ts'
import type { HttpAnswer, HttpRequest } from '../registry/http/request.ts'
import { requestWithRetry } from '../registry/http/request-retry.ts'
import { readNpmConfig } from '../registry/npm/npmrc.ts'
import type { ForgeApi, ForgeLack, ForgeRelease } from './api.ts'
import { githubApi } from './github.ts'
import { gitlabApi } from './gitlab.ts'

export interface Forge extends AsyncDisposable {
  /** For messages. */
  readonly url: string
  /** Why nothing can be announced: a release with this forge is refused before anything is built. */
  readonly lacks?: ForgeLack
  /** Announces a release unless it is there. Returns whether it was made now. */
  announce(release: ForgeRelease, wait?: WaitOptions): Promise<'made' | 'there'>
}

export type ForgeKind = 'github' | 'gitlab'

export interface OpenForgeOptions extends WaitOptions {
  readonly kind: ForgeKind
  readonly root: string
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly kernel?: Kernel
}

/**
 * Opens the forge of a repository. Where a build service does not say which project it is, the address of
 * `origin` does. Without a token or a project, `lacks` of the forge says so.
 *
 * *Cancellation*: leaves nothing behind.
 */
export async function openForge(options: OpenForgeOptions): Promise<Forge> {
  const { kind, root, env = process.env, kernel = systemKernel, ...wait } = options
  const remote = await runGit(root, ['remote', 'get-url', 'origin'], wait).catch(() => '')
  const api = (kind === 'github' ? githubApi : gitlabApi)(env, remote.trim())
  if ('problem' in api) return unusableForge(kind, api)
  // A proxy or an authority that leads to the registry leads to the forge as well.
  const transportFor = await (await readNpmConfig({ folder: root, env })).transports(env)
  return new HttpForge(api, new HttpClient({ kernel, connections: 2, transportFor }))
}

function unusableForge(kind: ForgeKind, lacks: ForgeLack): Forge {
  return {
    url: kind,
    lacks,
    announce: () =>
      Promise.reject(
        new HeddleError('HDL_PREFLIGHT', { problems: [{ check: 'notes', ...lacks }] }),
      ),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}

class HttpForge implements Forge {
  readonly url: string
  readonly #api: ForgeApi
  readonly #kernel: Kernel
  readonly #http: HttpClient

  constructor(api: ForgeApi, http: HttpClient) {
    this.url = api.url
    this.#api = api
    this.#kernel = http.kernel
    this.#http = http
  }

  async announce(release: ForgeRelease, wait: WaitOptions = {}): Promise<'made' | 'there'> {
    const { url, body } = this.#api.create
    const action = `announcing ${release.tag}`
    let isMade = false
    await converge(
      {
        what: action,
        kernel: this.#kernel,
        confirmedAt: this.url,
        isDone: (inside) => this.#isThere(release.tag, action, inside),
        write: async (inside) => {
          const headers = { ...this.#api.headers, 'content-type': 'application/json' }
          const text = JSON.stringify(body(release))
          const request: HttpRequest = { method: 'POST', url, headers, body: text, action }
          const answer = await this.#http.send(request, inside)
          const isTaken = answer.status === 200 || answer.status === 201
          isMade ||= isTaken
          // 409 and 422: another process was first, or the answer of an earlier try got lost.
          if (isTaken || (await this.#isThere(release.tag, action, inside))) return
          throw this.#failure(answer, action, true)
        },
      },
      wait,
    )
    return isMade ? 'made' : 'there'
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#http.close()
  }

  async #isThere(tag: string, action: string, wait: WaitOptions): Promise<boolean> {
    const { headers, find } = this.#api
    const request: HttpRequest = { method: 'GET', url: find(tag), headers, action }
    const answer = await requestWithRetry(this.#http, request, wait)
    if (answer.status === 200) return true
    if (answer.status === 404) return false
    throw this.#failure(answer, action, false)
  }

  #failure(answer: HttpAnswer, action: string, write: boolean): HeddleError {
    return failureOf(answer, { registry: this.url, action, write }, this.#kernel.clock.wallTime())
  }
}
