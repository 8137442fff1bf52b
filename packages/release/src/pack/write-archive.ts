/**
 * Making archives in a thread.
 *
 * Compression is done by Node's own threads anyway. What is moved off the loop here is the rest:
 * hashing, and above all collecting the garbage of thousands of buffers, which held the loop for 20
 * to 60 ms at a time (law 2; figures in docs/decisions/0212).
 */
import { createReadStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { job, type Job } from '@heddle/core'
import type { Artifact } from '../model.ts'
import type { ArchiveEntry } from './archive-entry.ts'
import { Limit } from './limit.ts'
import { zip } from './python/zip.ts'
import { withRecord } from './python/wheel-record.ts'
import { readFromZip } from './python/read-zip.ts'
import { readTarball, type ArchiveContent } from './read-tarball.ts'
import { tarGzip } from './tar.ts'
import { packThreads } from './threads.ts'
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
  /** Files of the archive whose text is wanted: read back from what was written. */
  readonly readBack: RegExp
}

export interface WrittenArchive {
  readonly artifact: Artifact
  /** What the file holds. */
  readonly content: ArchiveContent
}

function piecesOf(source: ArchiveSource): AsyncIterable<Uint8Array> {
  if (source.kind === 'tar') return tarGzip(source.entries)
  if (source.kind === 'wheel') return zip(withRecord(source.entries, source.record))
  return createReadStream(source.from) as AsyncIterable<Uint8Array>
}

/** Made for the thread; called by {@link writeArchive}. */
const archiveJob: Job<ArchiveTask, WrittenArchive> = job(
  { name: 'write an archive', place: 'thread', module: import.meta.url },
  async ({ file, source, readBack }: ArchiveTask, { signal }): Promise<WrittenArchive> => {
    using limit = new Limit(`Writing ${file}`, { signal })
    const artifact = await writeArtifact(file, piecesOf(source), limit)
    try {
      const read = file.endsWith('.whl') ? readFromZip : readTarball
      const content = await read(file, readBack)
      limit.check()
      return { artifact, content }
    } catch (error) {
      await rm(file, { force: true })
      throw error
    }
  },
)

/**
 * Writes an archive and reads it back. The file appears when it is whole; when something fails,
 * nothing is left behind.
 *
 * *Cancellation*: ends between two pieces.
 * *Fairness*: first come, first started.
 */
export async function writeArchive(
  task: ArchiveTask,
  signal: AbortSignal,
): Promise<WrittenArchive> {
  const { name } = archiveJob
  try {
    return await packThreads().run({ module: import.meta.url, job: name, input: task }, { signal })
  } catch (error) {
    // The thread may have been done, with its result on the way: the archive is not reported.
    if (signal.aborted) await rm(task.file, { force: true }).catch(() => undefined)
    throw error
  }
}
