/**
 * A registry as the stages see it. Reads are retried inside; an upload is tried once per call, and
 * its callers read before and after: only the registry knows its content.
 */
import type { WaitOptions } from '@heddle/core/lowlevel'
import type { InstalledRanges } from '../manifest/workspace-ranges.ts'
import type { Ecosystem, PackedPackage } from '../model.ts'
import type { ProvenanceBundle } from './npm/provenance.ts'

/** One version as the registry holds it. */
export interface VersionOnRegistry {
  readonly version: string
  /**
   * Hashes by file name: `sha512-…` for npm, `sha256-…` for PyPI. For npm there is one entry, which may have
   * several hashes of one algorithm with spaces between them.
   */
  readonly integrity: ReadonlyMap<string, string>
  /** Where the files are. */
  readonly urls: readonly string[]
  readonly deprecated?: string
  /** The commit that it was published from, where the tool that published it said so. */
  readonly gitHead?: string
  /** What is installed beside it, where the registry says so. */
  readonly ranges?: InstalledRanges
}

/** What is behind the address that a registry gives for an archive. */
export type ArchiveStanding =
  | { readonly is: 'as-expected' }
  | { readonly is: 'missing' }
  | { readonly is: 'different'; readonly expected: string; readonly found: string }

/** The meaning of the version's presence or absence for {@link PackedPackage}. */
export type Standing =
  | { readonly is: 'absent' }
  /** Everything is there with our hashes. */
  | { readonly is: 'ours'; readonly found: VersionOnRegistry }
  /** Some files are there with our hashes, some are missing (PyPI). */
  | { readonly is: 'partial'; readonly missing: readonly string[] }
  /** Something else has been published under this name and version. */
  | { readonly is: 'different'; readonly expected: string; readonly found: string }

export interface UploadOptions extends WaitOptions {
  readonly distTag: string
  readonly access?: 'public' | 'restricted'
  /** A one-time password, where the account needs one. */
  readonly otp?: string
  /** Hand in for approval instead of publishing, where the registry can. */
  readonly stage?: boolean
  /** Only these files, by name: the missing ones of a partial standing. All when absent. */
  readonly files?: readonly string[]
  /** The commit that is published; the registry keeps it with the version. */
  readonly gitHead?: string
  /** A Sigstore bundle that the journal has kept. */
  readonly provenance?: ProvenanceBundle
  /** A Sigstore bundle that was made before, so that a second try does not sign again. */
  readonly provenanceFile?: string
}

/** What the registry said about an upload that it took. */
export interface UploadAnswer {
  /** The name of the staged version, where it was staged for approval. */
  readonly stageId?: string
}

/** A version that waits for approval. */
export interface StagedVersion {
  readonly id: string
  readonly name: string
  readonly version: string
  readonly tag?: string
  /** Its hashes in the form of {@link VersionOnRegistry}, where the registry reports them. */
  readonly integrity?: string
}

/** Two-phase publishing, where a registry has it. */
export interface Stages {
  /** What waits for approval: all, or the versions of one package. */
  list(name?: string, wait?: WaitOptions): Promise<readonly StagedVersion[]>
  approve(id: string, options?: WaitOptions & { readonly otp?: string }): Promise<void>
  reject(id: string, options?: WaitOptions & { readonly otp?: string }): Promise<void>
}

/** Our identity at a registry. */
export type Account =
  | { readonly is: 'known'; readonly user: string; readonly asksForOtp: boolean }
  /** The registry knows the token no more, or settings name a variable that is not set. */
  | { readonly is: 'refused'; readonly problem: string; readonly todo: string }
  /** There is no token, and the registry is known to take no upload without one. */
  | { readonly is: 'anonymous'; readonly problem: string; readonly todo: string }
  /** There is no token, or the registry does not say whose it is. */
  | { readonly is: 'unknown' }

export interface Registry {
  readonly ecosystem: Ecosystem
  readonly url: string
  read(name: string, version: string, wait?: WaitOptions): Promise<VersionOnRegistry | undefined>
  compare(packed: PackedPackage, wait?: WaitOptions): Promise<Standing>
  /**
   * Fetches the archives of a version and hashes them: with `packed` they must match the packed ones, else
   * the registry's own hashes. One try.
   */
  archives?(
    found: VersionOnRegistry,
    packed?: PackedPackage,
    wait?: WaitOptions,
  ): Promise<ArchiveStanding>
  /** The account, or why there is none. Absent where a registry cannot be asked. */
  account?(wait?: WaitOptions): Promise<Account>
  /** Whether a package is public: provenance of others is refused. */
  isPublic?(name: string, wait?: WaitOptions): Promise<boolean>
  /** The rights of the account for a package, where the registry reports them. */
  rights?(name: string, user: string, wait?: WaitOptions): Promise<'write' | 'read' | 'unknown'>
  /** One try. Failures are classified: see `error-class.ts`. */
  upload(packed: PackedPackage, options: UploadOptions): Promise<UploadAnswer>
  /** Empty where the registry has no tags. */
  tags(name: string, wait?: WaitOptions): Promise<ReadonlyMap<string, string>>
  setTag(name: string, tag: string, version: string | undefined, wait?: WaitOptions): Promise<void>
  /** An empty message takes the deprecation back. */
  deprecate(name: string, version: string, message: string, wait?: WaitOptions): Promise<void>
  /** Absent where the kind of registry knows no staging. */
  readonly stages?: Stages
  close(): Promise<void>
}
