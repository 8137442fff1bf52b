import type { ArtifactInfo, ArtifactStore } from './artifact-store.ts'

/**
 * Copies an artifact to another run or store, with its author and time, and checks it on the way.
 *
 * *Cancellation*: by its signal; then nothing is left of the copy.
 * @throws as `open` of the one and `put` of the other store.
 */
export async function copyArtifact(
  { run, name, by, length, sha256, createdAt }: ArtifactInfo,
  from: Pick<ArtifactStore, 'open'>,
  to: Pick<ArtifactStore, 'put'>,
  {
    into = run,
    signal,
  }: { readonly into?: string; readonly signal?: AbortSignal | undefined } = {},
): Promise<void> {
  await using opened = await from.open(run, name)
  // The quota was for the jobs that wrote them.
  const quota = { bytes: Infinity, count: Infinity }
  const options = { by, length, sha256, createdAt, quota, ...(signal !== undefined && { signal }) }
  await to.put(into, name, opened.bytes, options)
}
