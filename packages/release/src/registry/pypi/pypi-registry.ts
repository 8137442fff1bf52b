import path from 'node:path'
import { HeddleError } from '@heddle/core'
import { systemKernel, type Kernel, type WaitOptions } from '@heddle/core/lowlevel'
import type { Artifact, PackedPackage } from '../../model.ts'
import { lookAtArchive } from '../archive.ts'
import { failureOf, type Asked } from '../error-class.ts'
import { parseAnswer } from '../http/answer.ts'
import { HttpClient } from '../http/client.ts'
import type { HttpAnswer, HttpRequest } from '../http/request.ts'
import { requestWithRetry } from '../http/request-retry.ts'
import { buildServiceOf, readIdToken, textField, type Environment } from '../id-token.ts'
import type {
  Account,
  ArchiveStanding,
  Registry,
  Standing,
  UploadAnswer,
  UploadOptions,
  VersionOnRegistry,
} from '../registry.ts'
import { multipartBody } from './multipart.ts'
import { formOf } from './upload-form.ts'

export interface PypiRegistryOptions {
  /** Where it is read: `https://pypi.org`. */
  readonly url: string
  /** Where files are sent. Default: PyPI's own for PyPI, else `legacy/` under `url`. */
  readonly uploadUrl?: string
  /** An API token. It is sent to `uploadUrl` only. */
  readonly token?: string
  /** Shared by all registries of a release. One of its own when absent. */
  readonly http?: HttpClient
  /** Milliseconds without progress after which an upload is given up. Default 2 minutes. */
  readonly uploadTimeout?: number
  readonly kernel?: Kernel
  /** Environment in which a build service identifies itself: used when there is no token. */
  readonly env?: Environment
}

interface ReleaseDocument {
  readonly info?: { readonly yanked?: boolean; readonly yanked_reason?: string | null }
  readonly urls?: readonly {
    readonly filename: string
    readonly url: string
    readonly digests: { readonly sha256: string }
  }[]
}

/**
 * A registry that speaks the protocols of PyPI.
 *
 * @example
 * const registry = pypiRegistry({ url: 'https://test.pypi.org', token: 'pypi-secret' })
 */
export function pypiRegistry(options: PypiRegistryOptions): PypiRegistry {
  return new PypiRegistry(options)
}

export class PypiRegistry implements Registry {
  readonly ecosystem = 'python'
  readonly url: string
  readonly #uploadUrl: string
  readonly #authorization: string | undefined
  readonly #http: HttpClient
  readonly #ownsHttp: boolean
  readonly #kernel: Kernel
  readonly #uploadTimeout: number
  readonly #env: Environment
  /** Good for some minutes: asked for once. */
  #minted: Promise<string | undefined> | undefined

  constructor(options: PypiRegistryOptions) {
    const url = new URL(options.url)
    url.username = ''
    url.password = ''
    this.url = url.href.replace(/\/*$/, '/')
    this.#uploadUrl = options.uploadUrl ?? uploadUrlOf(this.url)
    const { token } = options
    this.#authorization = token === undefined ? undefined : basicToken(token)
    this.#kernel = options.kernel ?? options.http?.kernel ?? systemKernel
    this.#http = options.http ?? new HttpClient({ kernel: this.#kernel })
    this.#ownsHttp = options.http === undefined
    this.#uploadTimeout = options.uploadTimeout ?? 120_000
    this.#env = options.env ?? {}
  }

  /**
   * One version as the registry holds it; undefined when it has none.
   *
   * *Cancellation*: leaves nothing behind.
   * *Fairness*: waits in line for a connection.
   */
  async read(
    name: string,
    version: string,
    wait: WaitOptions = {},
  ): Promise<VersionOnRegistry | undefined> {
    const action = `GET ${name} ${version}`
    const page = `${normalName(name)}/${encodeURIComponent(version)}/json`
    const answer = await requestWithRetry(
      this.#http,
      {
        method: 'GET',
        url: `${this.url}pypi/${page}`,
        action,
        headers: { accept: 'application/json', 'cache-control': 'no-cache' },
      },
      wait,
    )
    if (answer.status === 404 || answer.status === 410) return undefined
    if (answer.status !== 200) throw this.#failure(answer, action, false)
    const { urls = [], info } = await parseAnswer(
      answer,
      this.url,
      () => JSON.parse(answer.body.toString()) as ReleaseDocument,
    )
    return {
      version,
      integrity: new Map(
        urls.map(({ filename, digests }) => [filename, `sha256-${digests.sha256}`]),
      ),
      urls: urls.map(({ url }) => url),
      ...(info?.yanked === true ? { deprecated: info.yanked_reason ?? 'yanked' } : {}),
    }
  }

  /**
   * Whether the registry holds the files that were packed, by SHA-256. Files of the version that we
   * did not make (wheels for other machines) are not our business.
   *
   * *Cancellation*: leaves nothing behind.
   * *Fairness*: waits in line for a connection.
   */
  async compare(packed: PackedPackage, wait: WaitOptions = {}): Promise<Standing> {
    const found = await this.read(packed.name, packed.version, wait)
    if (found === undefined) return { is: 'absent' }
    const missing: string[] = []
    for (const { file, sha256 } of packed.artifacts) {
      const name = path.basename(file)
      const hash = found.integrity.get(name)
      const expected = `sha256-${sha256}`
      if (hash === undefined) missing.push(name)
      else if (hash !== expected) {
        return { is: 'different', expected: `${name} ${expected}`, found: hash }
      }
    }
    if (missing.length === 0) return { is: 'ours', found }
    return missing.length === packed.artifacts.length
      ? { is: 'absent' }
      : { is: 'partial', missing }
  }

  /**
   * Fetches the files of a version and compares their hashes.
   *
   * *Cancellation*: leaves nothing behind.
   * *Fairness*: waits in line for a connection.
   */
  async archives(
    found: VersionOnRegistry,
    packed?: PackedPackage,
    wait: WaitOptions = {},
  ): Promise<ArchiveStanding> {
    const ours = packed?.artifacts.map(({ file }) => path.basename(file))
    const failure = (answer: HttpAnswer, { action = '' }: HttpRequest): HeddleError =>
      this.#failure(answer, action, false)
    for (const address of found.urls) {
      const url = new URL(address, this.url).href
      const name = decodeURIComponent(new URL(url).pathname.split('/').at(-1) ?? '')
      const expected = found.integrity.get(name)
      if (expected === undefined || ours?.includes(name) === false) continue
      const standing = await lookAtArchive(
        this.#http,
        { url, expected, headers: {}, failure },
        wait,
      )
      if (standing.is !== 'as-expected') return standing
    }
    return { is: 'as-expected' }
  }

  /**
   * Sends the files one after the other, each once; those in `files` only, when it is given.
   *
   * *Cancellation*: ends the upload; some files may be there. Read before another one.
   * *Fairness*: waits in line for a connection.
   */
  async upload(packed: PackedPackage, options: UploadOptions): Promise<UploadAnswer> {
    if (options.stage === true) throw this.#unsupported('staged publishing', 'Publish directly.')
    for (const artifact of packed.artifacts) {
      const name = path.basename(artifact.file)
      if (options.files?.includes(name) === false) continue
      await this.#send(packed, artifact, name, options)
    }
    return {}
  }

  /** PyPI has no tags: the highest version is the one that is installed. */
  async tags(): Promise<ReadonlyMap<string, string>> {
    return new Map()
  }

  /** @throws `HDL_REGISTRY_UNSUPPORTED` always. */
  async setTag(): Promise<void> {
    throw this.#unsupported('tags', 'The highest version that is not a prerelease is installed.')
  }

  /** @throws `HDL_REGISTRY_UNSUPPORTED` always: it can be done on its pages only. */
  async deprecate(name: string, version: string): Promise<void> {
    const page = `${this.url}manage/project/${normalName(name)}/release/${version}/`
    throw this.#unsupported(
      'way for programs to take a version back',
      `Yank ${name} ${version} by hand on ${page}.`,
    )
  }

  /**
   * Ends its connections, unless they are shared.
   *
   * *Cancellation*: none.
   */
  async close(): Promise<void> {
    if (this.#ownsHttp) await this.#http.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #send(
    packed: PackedPackage,
    artifact: Artifact,
    fileName: string,
    wait: WaitOptions,
  ): Promise<void> {
    const action = `POST ${fileName}`
    const form = multipartBody(await formOf(packed, artifact, fileName), 'content', artifact)
    const authorization = this.#authorization ?? (await this.#trusted(wait))
    const answer = await this.#http.send(
      {
        method: 'POST',
        url: this.#uploadUrl,
        action,
        headers: {
          'content-type': form.contentType,
          'content-length': String(form.length),
          ...(authorization === undefined ? {} : { authorization }),
        },
        body: form.body,
        timeout: this.#uploadTimeout,
      },
      wait,
    )
    if (answer.status >= 200 && answer.status < 300) return
    const { name, version } = packed
    throw this.#failure(answer, action, true, {
      package: name,
      version,
      hash: `sha256-${artifact.sha256}`,
    })
  }

  /**
   * Whether there is a token, or a build that can prove its identity. Only the public index is known to want one.
   *
   * *Cancellation*: none; nothing is asked.
   */
  account(): Promise<Account> {
    const isPublic = /(^|\.)pypi\.org$/.test(new URL(this.url).hostname)
    const canUpload = this.#authorization !== undefined || buildServiceOf(this.#env) !== undefined
    if (!isPublic || canUpload) return Promise.resolve({ is: 'unknown' })
    const problem = `PYPI_TOKEN is not set, and uploads to ${this.url} need a token`
    const todo =
      'Set it (or UV_PUBLISH_TOKEN, or TWINE_PASSWORD), or publish from a build service that PyPI trusts.'
    return Promise.resolve({ is: 'anonymous', problem, todo })
  }

  /** Trusted publishing: the identity of a build is exchanged for a token. */
  async #trusted(wait: WaitOptions): Promise<string | undefined> {
    this.#minted ??= this.#mint(wait)
    this.#minted.catch(() => (this.#minted = undefined))
    const token = await this.#minted
    return token === undefined ? undefined : basicToken(token)
  }

  async #mint(wait: WaitOptions): Promise<string | undefined> {
    if (buildServiceOf(this.#env) === undefined) return undefined
    const page = `${this.url}_/oidc/audience`
    const known = await requestWithRetry(this.#http, { method: 'GET', url: page }, wait)
    const audience = known.status === 200 ? textField(known.body, 'audience') : undefined
    if (audience === undefined) return undefined
    const question = { audience, variable: 'PYPI_ID_TOKEN' }
    const token = await readIdToken(this.#http, this.#env, question, wait)
    if (token === undefined) return undefined
    const answer = await this.#http.send(
      {
        method: 'POST',
        url: `${this.url}_/oidc/mint-token`,
        action: 'exchanging the identity of this build for a token',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ token }),
      },
      wait,
    )
    return answer.status === 200 ? textField(answer.body, 'token') : undefined
  }

  #failure(
    answer: HttpAnswer,
    action: string,
    write: boolean,
    version?: Asked['version'],
  ): HeddleError {
    const registry = write ? this.#uploadUrl : this.url
    const asked: Asked = { registry, action, write, ...(version === undefined ? {} : { version }) }
    return failureOf(answer, asked, this.#kernel.clock.wallTime())
  }

  #unsupported(feature: string, instead: string): HeddleError {
    return new HeddleError('HDL_REGISTRY_UNSUPPORTED', { registry: this.url, feature, instead })
  }
}

/**
 * The form of names in addresses: lower case, and one dash for any run of dashes, dots and
 * underscores.
 */
function normalName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_.]+/g, '-')
}

function basicToken(token: string): string {
  return `Basic ${Buffer.from(`__token__:${token}`).toString('base64')}`
}

function uploadUrlOf(url: string): string {
  return new URL(url).host === 'pypi.org' ? 'https://upload.pypi.org/legacy/' : `${url}legacy/`
}
