/**
 * What is read from a packument, the document with all versions of a package.
 *
 * A popular package has thousands of versions and a document of several megabytes. Parsing one blocks
 * the loop for tens of milliseconds, so large ones are parsed in a thread and only the answer comes back.
 */
import { job } from '@heddle/core'
import type { ThreadPool, WaitOptions } from '@heddle/core/lowlevel'
import { installedRanges } from '../../manifest/workspace-ranges.ts'
import type { VersionOnRegistry } from '../registry.ts'
import { hashesOf } from './integrity.ts'

interface VersionDocument {
  readonly name?: string
  readonly version?: string
  deprecated?: string
  readonly gitHead?: unknown
  readonly dist?: {
    readonly tarball?: string
    readonly integrity?: unknown
    readonly shasum?: unknown
  }
}

interface Packument {
  readonly 'dist-tags'?: unknown
  readonly versions?: Record<string, VersionDocument>
}

/** Parsing takes about 7 ms a megabyte. */
const largestOnLoop = 256 * 1024

/** One version out of a packument. */
interface Picked {
  /** Null when the package has no version of this number. */
  readonly document: VersionDocument | null
  /** A version that the package has: the one asked for, else any. */
  readonly existing: string | null
  readonly tags: Readonly<Record<string, string>>
}

const pickVersion = job(
  { name: 'pick-version', place: 'thread', module: import.meta.url },
  ({ body, version }: { body: Uint8Array; version: string }): Picked => pick(body, version),
)

/** The packument with a deprecation set or taken back; null when that changes nothing. */
const deprecateVersion = job(
  { name: 'deprecate-version', place: 'thread', module: import.meta.url },
  (input: { body: Uint8Array; version: string; message: string }): string | null =>
    deprecate(input.body, input.version, input.message),
)

function parse(body: Uint8Array): Packument {
  return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.length).toString()) as Packument
}

function pick(body: Uint8Array, version: string): Picked {
  const packument = parse(body)
  const { versions = {} } = packument
  const document = versions[version] ?? null
  return {
    document,
    existing: document === null ? (Object.keys(versions)[0] ?? null) : version,
    tags: readTags(packument['dist-tags'] ?? {}),
  }
}

/** @throws `TypeError` when it is not an object with text values. */
export function readTags(value: unknown): Record<string, string> {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isObject || Object.values(value).some((version) => typeof version !== 'string')) {
    throw new TypeError('dist-tags are not an object of versions')
  }
  return value as Record<string, string>
}

function deprecate(body: Uint8Array, version: string, message: string): string | null {
  const packument = parse(body)
  const found = packument.versions?.[version]
  if (found === undefined || (found.deprecated ?? '') === message) return null
  found.deprecated = message
  return JSON.stringify(packument)
}

/** What is read for one version. */
export interface FromPackument {
  readonly found?: VersionOnRegistry
  /** A version that the package has: the one asked for, else any. */
  readonly existing?: string
  readonly tags: Readonly<Record<string, string>>
}

/** Does it here or, when it is large, in a thread. */
export class PackumentReader {
  readonly #threads: () => ThreadPool

  constructor(threads: () => ThreadPool) {
    this.#threads = threads
  }

  async version(body: Buffer, version: string, wait: WaitOptions): Promise<FromPackument> {
    const { document, existing, tags } =
      body.length <= largestOnLoop
        ? pick(body, version)
        : await this.#threads().run<Picked>(
            { module: import.meta.url, job: pickVersion.name, input: { body, version } },
            wait,
          )
    return {
      ...(document !== null && { found: versionOf(document, version) }),
      ...(existing !== null && { existing }),
      tags,
    }
  }

  /** Undefined when nothing would change. */
  async withDeprecation(
    body: Buffer,
    version: string,
    message: string,
    wait: WaitOptions,
  ): Promise<string | undefined> {
    const changed =
      body.length <= largestOnLoop
        ? deprecate(body, version, message)
        : ((await this.#threads().run(
            {
              module: import.meta.url,
              job: deprecateVersion.name,
              input: { body, version, message },
            },
            wait,
          )) as string | null)
    return changed ?? undefined
  }
}

/**
 * A document of one version, as `GET /name/version` gives it. Undefined for any other document: proxies and
 * some registries answer with success whatever they are asked.
 */
export function readVersionDocument(
  body: Buffer,
  name: string,
  version: string,
): VersionOnRegistry | undefined {
  const document = JSON.parse(body.toString()) as VersionDocument | null
  const isOfPackage = document?.name === undefined || document.name === name
  const isVersion =
    isOfPackage && document?.version === version && typeof document.dist === 'object'
  return isVersion && document.dist !== null ? versionOf(document, version) : undefined
}

function versionOf(document: VersionDocument, version: string): VersionOnRegistry {
  const { tarball = '', integrity, shasum } = document.dist ?? {}
  const hashes = hashesOf(integrity, shasum)
  const { deprecated, gitHead } = document
  return {
    version: document.version ?? version,
    integrity: new Map([[tarball.slice(tarball.lastIndexOf('/') + 1), hashes]]),
    urls: tarball === '' ? [] : [tarball],
    ...(deprecated === undefined || deprecated === '' ? {} : { deprecated }),
    ...(typeof gitHead === 'string' && { gitHead }),
    ranges: installedRanges({ ...document }),
  }
}
