import { randomUUID } from 'node:crypto'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { HeddleError } from '@heddle/core'
import type { Artifact } from '../model.ts'
import { Digests } from './digests.ts'

/**
 * Writes an archive piece by piece and hashes it on the way. The file appears when it is whole;
 * when something fails, nothing is left behind.
 *
 * Hashing a piece of 64 KiB takes less than a millisecond, so it stays on the loop: sending every
 * piece to a thread would cost more.
 */
export async function writeArtifact(
  file: string,
  pieces: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<Artifact> {
  const temp = `${file}.${process.pid}-${randomUUID().slice(0, 8)}.tmp`
  const digests = new Digests()
  try {
    await mkdir(path.dirname(file), { recursive: true })
    {
      await using handle = await open(temp, 'wx')
      for await (const piece of pieces) {
        signal.throwIfAborted()
        digests.update(piece)
        await handle.writeFile(piece)
      }
      await handle.sync()
    }
    signal.throwIfAborted()
    await rename(temp, file)
  } catch (error) {
    await rm(temp, { force: true }).catch(() => undefined)
    throw signal.aborted ? signal.reason : asFileError(file, error)
  }
  return digests.artifact(file)
}

function asFileError(file: string, error: unknown): unknown {
  if (error instanceof HeddleError || !(error instanceof Error) || !('code' in error)) return error
  const details = { store: file, action: 'be written', cause: error.message }
  return new HeddleError('HDL_STORE_FAILED', details, { cause: error })
}
