import { rm } from 'node:fs/promises'
import { archiveJob, type ArchiveTask, type WrittenArchive } from './archive-job.ts'
import { runInPackThread } from './threads.ts'

/**
 * Writes an archive and reads it back, in a thread. The file appears when it is whole; when something fails,
 * nothing is left behind.
 *
 * *Cancellation*: ends between two pieces.
 * *Fairness*: first come, first started.
 */
export async function writeArchive(
  task: ArchiveTask,
  signal: AbortSignal,
): Promise<WrittenArchive> {
  try {
    return await runInPackThread(archiveJob, task, signal)
  } catch (error) {
    // The thread may have been done, with its result on the way: the archive is not reported.
    if (signal.aborted) await rm(task.file, { force: true }).catch(() => undefined)
    throw error
  }
}
