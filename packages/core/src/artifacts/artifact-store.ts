/*
 * Files that jobs leave behind: reports, plots, games. They belong to a run, or to a campaign, and are removed with it.
 *
 *   content ──▶ draft ──length and checksum hold──▶ durable ──▶ listed
 *                 ├── cut, and `resumable` ──▶ kept ──put with `start`──▶ draft
 *                 └── cut, too large, or not as announced ──▶ removed
 *
 * Invariants, quoted by the conformance suite, which every implementation runs:
 *  F1  An artifact is listed when all of its bytes are durable. A crash at any instant leaves the old one or the new
 *      one, whole, and its other leftovers are removed by the next process that writes artifacts of the run.
 *  F2  A name belongs to the piece of work that wrote it first (`by`): the same one may replace it, any other is
 *      refused.
 *  F3  The artifacts of a run, with unfinished and interrupted uploads, never take more than the quota. An artifact and
 *      the one that replaces it count as the larger of the two; while both are there the disk holds both.
 *  F4  A name is a text and never a path: nothing is written or read outside of the store.
 *  F5  Bytes are read as they were written. Reading a whole artifact that was damaged ends with an error.
 *  F6  A put that fails leaves nothing; a resumable one whose content was cut leaves what received() says.
 *
 * One process at a time writes the artifacts of a run: the one that holds the run. Any process may read them.
 */

/** The content of an artifact: text, bytes, or a stream of either. */
export type ArtifactContent =
  | string
  | Uint8Array
  | Iterable<string | Uint8Array>
  | AsyncIterable<string | Uint8Array>

/** What is known of an artifact. */
export interface ArtifactInfo {
  readonly run: string
  readonly name: string
  /** Length in bytes. */
  readonly length: number
  /** Hash of its bytes, in hexadecimal. */
  readonly sha256: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** The piece of work that wrote it: a node, with the path of the element or the step; a lease. */
  readonly by: string
}

/** Quotas for the artifacts of one run. */
export interface ArtifactQuota {
  /** The limit of all of them together. Default 1 GiB. */
  readonly bytes: number
  /** How many there may be. Default 10,000. */
  readonly count: number
}

export interface PutArtifactOptions {
  /** The piece of work that writes it (F2). Empty when absent. */
  readonly by?: string
  /** How many bytes there will be. Fewer or more are refused with `HDL_ARTIFACT_MISMATCH`. */
  readonly length?: number
  /** The checksum that the bytes will have, in hexadecimal. Others are refused with `HDL_ARTIFACT_MISMATCH`. */
  readonly sha256?: string
  /** Whether received bytes are kept when the content is cut. Needs `length` and `sha256`, which name the upload. */
  readonly resumable?: boolean
  /** How many bytes of this upload the store has already: the content begins after them. Default 0. */
  readonly start?: number
  /** Instead of the quota of the store. */
  readonly quota?: Partial<ArtifactQuota>
  /** When it was written, for a copy: milliseconds since 1970. Default now. */
  readonly createdAt?: number
  readonly signal?: AbortSignal
}

/** Names an upload that can be resumed. */
export type ArtifactUpload = Required<Pick<PutArtifactOptions, 'length' | 'sha256'>>

/** Which bytes are read. */
export interface ArtifactRange {
  /** The first byte. Default 0. */
  readonly start?: number
  /** The byte after the last one. Default: the length. */
  readonly end?: number
}

/**
 * An artifact that is being read. Its content does not change when the artifact is replaced during the read. One that
 * is removed stays readable in memory and in a folder; in a database reading it ends with `HDL_ARTIFACT_DAMAGED`.
 * `bytes` is read once, at the pace of its reader, and closes its source when it ends; dispose of one that is not
 * read.
 */
export interface OpenArtifact extends AsyncDisposable {
  readonly info: ArtifactInfo
  /** The range that is read. */
  readonly start: number
  readonly end: number
  readonly bytes: AsyncIterable<Uint8Array>
}

/**
 * A store of artifacts. Users may implement it; `artifactStoreConformance` from `@heddle/core/testing` says whether they got
 * it right.
 */
export interface ArtifactStore extends AsyncDisposable {
  /**
   * Writes an artifact. It is durable when this resolves.
   *
   * *Cancellation*: by its signal, also while the content gives nothing: as if the content had been cut.
   * @throws `HDL_ARTIFACT_QUOTA`, `HDL_ARTIFACT_TAKEN`, `HDL_ARTIFACT_MISMATCH`; `HDL_ARTIFACT_BUSY` when the same
   * upload
   *   is being received; `HDL_STORE_FAILED`; the error of the content.
   */
  put(
    run: string,
    name: string,
    content: ArtifactContent,
    options?: PutArtifactOptions,
  ): Promise<ArtifactInfo>
  /** How many bytes of an upload that was cut are there: where to `start` again. */
  received(run: string, name: string, upload: ArtifactUpload): Promise<number>
  /** Undefined when there is none of this name. */
  find(run: string, name: string): Promise<ArtifactInfo | undefined>
  /** @throws `HDL_UNKNOWN_ARTIFACT`; `HDL_BAD_OPTION` for a range outside of it; `HDL_ARTIFACT_DAMAGED`. */
  open(run: string, name: string, range?: ArtifactRange): Promise<OpenArtifact>
  /** Lists artifacts in the order in which they were written. */
  list(run: string): Promise<readonly ArtifactInfo[]>
  /** Removes the artifacts of a run, and interrupted uploads. Returns their bytes. */
  remove(run: string): Promise<number>
  /** The runs that have artifacts, with their bytes. */
  sizes(): AsyncIterable<readonly [run: string, bytes: number]>
}

export const defaultQuota: ArtifactQuota = { bytes: 2 ** 30, count: 10_000 }
