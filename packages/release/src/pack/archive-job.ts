/**
 * Making an archive: the job that runs in a thread.
 *
 * Compression is done by Node's own threads anyway. This moves the rest off the loop:
 * hashing, and above all collecting the garbage of thousands of buffers, which held the loop for 20
 * to 60 ms at a time (law 2; figures in docs/decisions/0212).
 */
import { createReadStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { job, type Job } from '@heddle/core'
import type { Artifact } from '../model.ts'
import type { ArchiveEntry } from './archive-entry.ts'
import { zip } from './python/zip.ts'
import { withRecord } from './python/wheel-record.ts'
import { readFromZip } from './python/read-zip.ts'
import { readTarball, type ArchiveContent } from './read-tarball.ts'
import { writeArtifact } from './write-artifact.ts'

export type ArchiveSource =
  | { readonly kind: 'tar'; readonly entries: readonly ArchiveEntry[] }
  /** `record` is the path of the list of hashes that a wheel ends with. */
  | { readonly kind: 'wheel'; readonly entries: readonly ArchiveEntry[]; readonly record: string }
  /** An archive that another process has made. */
  | { readonly kind: 'copy'; readonly from: string }

export interface ArchiveTask {
  readonly file: string
  readonly source: ArchiveSource
  /** Files of the archive whose text is needed: read back from the written archive. */
  readonly readBack: RegExp
}

export interface WrittenArchive {
  readonly artifact: Artifact
  /** What the file holds. */
  readonly content: ArchiveContent
}

async function piecesOf(source: ArchiveSource): Promise<AsyncIterable<Uint8Array>> {
  if (source.kind === 'wheel') return zip(withRecord(source.entries, source.record))
  if (source.kind === 'copy') return createReadStream(source.from) as AsyncIterable<Uint8Array>
  // The package `tar` is loaded where it is used, and not by the process that only starts this job.
  const { tarGzip } = await import('./tar.ts')
  return tarGzip(source.entries)
}

export const archiveJob: Job<ArchiveTask, WrittenArchive> = job(
  { name: 'write an archive', place: 'thread', module: import.meta.url },
  async ({ file, source, readBack }: ArchiveTask, { signal }): Promise<WrittenArchive> => {
    const artifact = await writeArtifact(file, await piecesOf(source), signal)
    try {
      const read = file.endsWith('.whl') ? readFromZip : readTarball
      const content = await read(file, readBack)
      signal.throwIfAborted()
      return { artifact, content }
    } catch (error) {
      await rm(file, { force: true })
      throw error
    }
  },
)
