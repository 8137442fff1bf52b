import { isError } from '@heddle/core'
import { systemKernel, ThreadPool, type Kernel, type WaitOptions } from '@heddle/core/lowlevel'
import type { PackedPackage } from '../../model.ts'
import { readmeOf } from '../../pack/readme.ts'
import { converge } from '../converge.ts'
import { hashAs, isAmong } from '../hashes.ts'
import { HttpClient } from '../http/client.ts'
import type { HttpAnswer, HttpRequest } from '../http/request.ts'
import type { Environment } from '../id-token.ts'
import type {
  Account,
  ArchiveStanding,
  Registry,
  Stages,
  Standing,
  UploadAnswer,
  UploadOptions,
  VersionOnRegistry,
} from '../registry.ts'
import { noHash } from './integrity.ts'
import type { NpmConfig } from './npmrc.ts'
import type { OtpPrompt } from './one-time-passwords.ts'
import { PackumentReader, readTags, readVersionDocument, type FromPackument } from './packument.ts'
import { readProvenance } from './provenance.ts'
import { publishDocument } from './publish-document.ts'
import { registryManifest } from './registry-manifest.ts'
import { fieldsOf, NpmRequests } from './requests.ts'
import { NpmStages } from './stages.ts'
import { TrustedPublishing } from './trusted-publishing.ts'
import {
  collaboratorsUrl,
  packageUrl,
  stagePackageUrl,
  tagsUrl,
  versionUrl,
  visibilityUrl,
} from './urls.ts'

export interface NpmRegistryOptions {
  readonly url: string
  /** Sent as a bearer token, to this registry only. */
  readonly token?: string
  /** Where the token is looked for when none is given: see {@link readNpmConfig}. */
  readonly config?: NpmConfig
  /**
   * What a read asks for. `version`: the document of one version, which is small. `packument`: the
   * one that installers read, which is large and, behind a cache, older. Default `version`, except
   * where the registry turns out not to have it.
   */
  readonly reads?: 'version' | 'packument'
  /** Shared by all registries of a release. One of its own when absent. */
  readonly http?: HttpClient
  /** Milliseconds without progress after which an upload is given up. Default 2 minutes. */
  readonly uploadTimeout?: number
  readonly kernel?: Kernel
  /** How the user is asked for a one-time password. Absent: never. */
  readonly prompt?: OtpPrompt
  /** Environment in which a build service identifies itself, for trusted publishing. Empty when absent. */
  readonly env?: Environment
}

const abbreviated = 'application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8, */*'
/** Milliseconds for which a package that was absent is not asked for its tags. */
const absentFor = 5_000
/** The largest packuments of the public registry have about 100 MB. */
const largestPackument = 256 * 1024 * 1024

/**
 * A registry that speaks the protocol of npm.
 *
 * @example
 * const registry = npmRegistry({ url: 'http://127.0.0.1:4873', token: 'secret' })
 * const standing = await registry.compare(packed)
 */
export function npmRegistry(options: NpmRegistryOptions): NpmRegistry {
  return new NpmRegistry(options)
}

export class NpmRegistry implements Registry {
  readonly ecosystem = 'npm'
  readonly url: string
  readonly stages: Stages
  readonly #http: HttpClient
  readonly #ownsHttp: boolean
  readonly #kernel: Kernel
  readonly #requests: NpmRequests
  readonly #uploadTimeout: number
  readonly #packuments: PackumentReader
  #threads: ThreadPool | undefined
  #reads: 'version' | 'packument' | 'unknown'
  #tellsRights = true
  #tagsIn: 'endpoint' | 'packument' = 'endpoint'
  /** Packages of which the registry had no version at all, and when it was asked. */
  readonly #absent = new Map<string, number>()
  readonly #trusted: TrustedPublishing
  /** Variables that the settings of the token name and that are not set. */
  readonly #unset: readonly string[]

  constructor(options: NpmRegistryOptions) {
    // Credentials in the address would be printed with it.
    const { href } = new URL(packageUrl(options.url, ''))
    this.url = href
    this.#kernel = options.kernel ?? options.http?.kernel ?? systemKernel
    this.#http = options.http ?? new HttpClient({ kernel: this.#kernel })
    this.#ownsHttp = options.http === undefined
    this.#requests = new NpmRequests({
      url: href,
      http: this.#http,
      kernel: this.#kernel,
      prompt: options.prompt,
      authorization:
        options.token === undefined
          ? options.config?.authorizationFor(href)
          : `Bearer ${options.token}`,
    })
    this.#trusted = new TrustedPublishing(href, this.#http, options.env ?? {})
    this.#unset = options.token === undefined ? (options.config?.unsetFor(href) ?? []) : []
    this.#uploadTimeout = options.uploadTimeout ?? 120_000
    this.#reads = options.reads === 'packument' ? 'packument' : 'unknown'
    this.#packuments = new PackumentReader(() => (this.#threads ??= new ThreadPool({ threads: 1 })))
    this.stages = new NpmStages(this.#requests)
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
    if (this.#reads !== 'packument') {
      const single = await this.#readVersion(name, version, wait)
      if (single === 'absent' && this.#reads === 'version') return undefined
      if (typeof single === 'object') return single
    }
    const packument = await this.#readPackument(name, version, wait)
    if (packument === undefined) return undefined
    const { found, existing } = packument
    if (this.#reads === 'unknown' && existing !== undefined) {
      // A registry without documents of single versions says "not found" for whatever it is asked: one that
      // has them shows it with a version that it has.
      const shown = existing === version || (await this.#readVersion(name, existing, wait))
      if (typeof shown !== 'object') this.#reads = 'packument'
    }
    return found
  }

  /**
   * Whether the registry has the packed archive, by SHA-512.
   *
   * *Cancellation*: leaves nothing behind.
   * *Fairness*: waits in line for a connection.
   */
  async compare(packed: PackedPackage, wait: WaitOptions = {}): Promise<Standing> {
    const found = await this.read(packed.name, packed.version, wait)
    if (found === undefined) return { is: 'absent' }
    const artifact = packed.artifacts[0]!
    const [hash = ''] = found.integrity.values()
    if (hash === noHash) {
      const archive = await this.archives(found, packed, wait)
      if (archive.is === 'as-expected') return { is: 'ours', found }
      const seen = archive.is === 'different' ? archive.found : 'no hash and no archive'
      return { is: 'different', expected: artifact.integrity, found: seen }
    }
    const expected = hashAs(hash, artifact)
    if (isAmong(expected, hash)) return { is: 'ours', found }
    return { is: 'different', expected, found: hash }
  }

  /**
   * Fetches the archive and compares its hash.
   *
   * *Cancellation*: leaves nothing behind.
   * *Fairness*: waits in line for a connection.
   */
  async archives(
    found: VersionOnRegistry,
    packed?: PackedPackage,
    wait: WaitOptions = {},
  ): Promise<ArchiveStanding> {
    const [url] = found.urls
    const [said = ''] = found.integrity.values()
    const expected = packed?.artifacts[0]!.integrity ?? said
    // A version without an archive, as some mirrors list them.
    if (url === undefined || expected === '') return { is: 'missing' }
    // Another clone's version, of which no hash is known: that it can be fetched is all there is to see.
    if (expected === noHash) return { is: 'as-expected' }
    return this.#requests.archive(url, expected, wait)
  }

  /**
   * Asks the registry for our account. Without a token nothing is asked. In a build that can prove its identity
   * a token that is unknown or not set is not a problem: each package gets one of its own.
   *
   * *Cancellation*: leaves nothing behind.
   * *Fairness*: waits in line for a connection.
   */
  async account(wait: WaitOptions = {}): Promise<Account> {
    const [unset] = this.#unset
    if (this.#trusted.isPossible) {
      const account = unset === undefined ? await this.#requests.account(wait) : undefined
      return account?.is === 'known' ? account : { is: 'unknown' }
    }
    if (unset !== undefined) {
      return {
        is: 'refused',
        problem: `the token of ${this.url} is \${${unset}} in .npmrc, and ${unset} is not set`,
        todo: `Set ${unset}.`,
      }
    }
    return this.#requests.account(wait)
  }

  /**
   * Whether the package is public; false for one that is new.
   *
   * *Cancellation*: leaves nothing behind.
   * *Fairness*: waits in line for a connection.
   */
  async isPublic(name: string, wait: WaitOptions = {}): Promise<boolean> {
    const url = visibilityUrl(this.url, name)
    const answer = await this.#requests.ask(url, `GET visibility of ${name}`, wait)
    return answer.status === 200 && fieldsOf(answer)['public'] === true
  }

  /**
   * The rights of a user for a package. Registries other than the public one often do not report them.
   *
   * *Cancellation*: leaves nothing behind.
   * *Fairness*: waits in line for a connection.
   */
  async rights(
    name: string,
    user: string,
    wait: WaitOptions = {},
  ): Promise<'write' | 'read' | 'unknown'> {
    if (!this.#tellsRights) return 'unknown'
    const url = collaboratorsUrl(this.url, name)
    const answer = await this.#requests.ask(url, `GET rights on ${name}`, wait)
    if (answer.status !== 200) {
      // 404 is also the answer for a new package: there are no rights on it yet.
      if (answer.status !== 404) this.#tellsRights = false
      return 'unknown'
    }
    const rights = fieldsOf(answer)[user]
    if (typeof rights !== 'string')
      return Object.keys(fieldsOf(answer)).length === 0 ? 'unknown' : 'read'
    return rights.includes('write') ? 'write' : 'read'
  }

  /**
   * Sends the version, once. A version that must be approved first is sent with `stage`.
   *
   * *Cancellation*: ends the upload; the registry may have taken it. Read before another one.
   * *Fairness*: waits in line for a connection.
   * @throws what `error-class.ts` lists; `HDL_REGISTRY_UNSUPPORTED` where there is no staging.
   */
  async upload(packed: PackedPackage, options: UploadOptions): Promise<UploadAnswer> {
    const { name, version, manifest } = packed
    const { distTag, access, otp, stage = false, provenance, provenanceFile, gitHead } = options
    const configured = (
      manifest['publishConfig'] as { access?: 'public' | 'restricted' } | undefined
    )?.access
    const readme = await readmeOf(packed)
    const sent = { ...packed, manifest: await registryManifest(manifest, readme?.text) }
    const document = publishDocument(sent, {
      registry: this.url,
      distTag,
      access: access ?? configured,
      readme,
      gitHead,
      provenance:
        provenanceFile === undefined ? provenance : await readProvenance(provenanceFile, packed),
    })
    const request: HttpRequest = {
      method: stage ? 'POST' : 'PUT',
      url: stage ? stagePackageUrl(this.url, name) : packageUrl(this.url, name),
      action: `${stage ? 'staging' : 'PUT'} ${name}@${version}`,
      headers: { 'content-type': 'application/json', 'content-length': String(document.length) },
      body: document.body,
      timeout: this.#uploadTimeout,
    }
    const hash = packed.artifacts[0]!.integrity
    this.#absent.delete(name)
    const token = await this.#trusted.tokenFor(name, options)
    try {
      const answer = await this.#requests.write(request, options, {
        otp,
        token,
        version: { package: name, version, hash },
      })
      return stage ? { stageId: stageIdOf(answer) } : {}
    } catch (error) {
      if (stage && isError(error, 'HDL_REGISTRY_AUTH') && error.details.status === 404) {
        // "Not found" has two meanings here; a registry without staging has no list either.
        await this.stages.list(name, options)
      }
      throw error
    }
  }

  /**
   * Tags and the versions they stand for.
   *
   * *Cancellation*: leaves nothing behind.
   * *Fairness*: waits in line for a connection.
   */
  async tags(name: string, wait: WaitOptions = {}): Promise<ReadonlyMap<string, string>> {
    const absentAt = this.#absent.get(name)
    if (absentAt !== undefined && this.#kernel.clock.now() - absentAt < absentFor) return new Map()
    if (this.#tagsIn === 'endpoint') {
      const url = tagsUrl(this.url, name)
      const request: HttpRequest = { method: 'GET', url, action: `GET tags of ${name}` }
      const tags = await this.#requests.read(request, wait, ({ status, body }) =>
        status === 200 ? readTags(JSON.parse(body.toString())) : undefined,
      )
      if (tags !== undefined) return new Map(Object.entries(tags))
    }
    const packument = await this.#readPackument(name, '', wait)
    if (packument === undefined) return new Map()
    // It has the package and not this address: installers read the packument only.
    this.#tagsIn = 'packument'
    return new Map(Object.entries(packument.tags))
  }

  /**
   * Moves a tag to a version, or takes it away when there is none.
   *
   * *Cancellation*: the tag may have moved.
   * *Fairness*: waits in line for a connection.
   */
  async setTag(
    name: string,
    tag: string,
    version: string | undefined,
    wait: WaitOptions = {},
  ): Promise<void> {
    const action = version === undefined ? `DELETE tag ${tag} of ${name}` : `PUT ${name}@${tag}`
    const url = tagsUrl(this.url, name, tag)
    await converge(
      {
        what: action,
        kernel: this.#kernel,
        confirmedAt: this.url,
        isDone: async (inside) => (await this.tags(name, inside)).get(tag) === version,
        write: async (inside) => {
          const headers = { 'content-type': 'application/json' }
          await this.#requests.write(
            version === undefined
              ? { method: 'DELETE', url, action }
              : { method: 'PUT', url, action, headers, body: JSON.stringify(version) },
            inside,
          )
        },
      },
      wait,
    )
  }

  /**
   * Marks a version as not to be used, with a message; an empty one takes it back.
   *
   * *Cancellation*: it may have been done.
   * *Fairness*: waits in line for a connection.
   */
  async deprecate(
    name: string,
    version: string,
    message: string,
    wait: WaitOptions = {},
  ): Promise<void> {
    const url = packageUrl(this.url, name)
    const action = `deprecating ${name}@${version}`
    let changed: string | undefined
    await converge(
      {
        what: action,
        kernel: this.#kernel,
        confirmedAt: this.url,
        isDone: async (inside) => {
          const answer = await this.#requests.get(
            { method: 'GET', url: `${url}?write=true`, action, maxBytes: largestPackument },
            inside,
          )
          if (answer.status !== 200)
            throw this.#requests.failure(answer, { method: 'PUT', url, action })
          changed = await this.#packuments.withDeprecation(answer.body, version, message, inside)
          return changed === undefined
        },
        write: async (inside) => {
          const headers = { 'content-type': 'application/json' }
          await this.#requests.write(
            { method: 'PUT', url, action, headers, body: changed! },
            inside,
          )
        },
      },
      wait,
    )
  }

  /**
   * Closes resources that this registry opened: its thread, and its connections unless they are shared.
   *
   * *Cancellation*: none.
   */
  async close(): Promise<void> {
    await Promise.all([this.#threads?.stop(), this.#ownsHttp ? this.#http.close() : undefined])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** `other`: an answer that is not the document of this version. */
  async #readVersion(
    name: string,
    version: string,
    wait: WaitOptions,
  ): Promise<VersionOnRegistry | 'absent' | 'other'> {
    const url = versionUrl(this.url, name, version)
    const request: HttpRequest = { method: 'GET', url, action: `GET ${name}@${version}` }
    const found = await this.#requests.read(request, wait, ({ status, body }) =>
      status === 200 ? (readVersionDocument(body, name, version) ?? 'other') : 'absent',
    )
    if (typeof found === 'string') return found
    this.#reads = 'version'
    this.#absent.delete(name)
    return found
  }

  async #readPackument(
    name: string,
    version: string,
    wait: WaitOptions,
  ): Promise<FromPackument | undefined> {
    const request: HttpRequest = {
      method: 'GET',
      url: packageUrl(this.url, name),
      action: `GET ${name}`,
      headers: { accept: abbreviated },
      maxBytes: largestPackument,
    }
    const packument = await this.#requests.read(request, wait, ({ status, body }) =>
      status === 200 ? this.#packuments.version(body, version, wait) : undefined,
    )
    // A version that was staged for approval is there later than its upload.
    if (packument !== undefined) this.#absent.delete(name)
    else this.#absent.set(name, this.#kernel.clock.now())
    return packument
  }
}

function stageIdOf(answer: HttpAnswer): string {
  return (JSON.parse(answer.body.toString()) as { stageId: string }).stageId
}
