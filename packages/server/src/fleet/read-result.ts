/** Results of jobs that workers upload as artifacts: those that are large, or not JSON. */
import { HeddleError } from '@heddle/core'
import { readFleetValue, type ArtifactStore, type Clock } from '@heddle/core/lowlevel'

/**
 * *Cancellation*: none; its time is bounded by its size.
 * @throws `HDL_NO_ARTIFACTS`, `HDL_UNKNOWN_ARTIFACT`; `HDL_STORE_FAILED` for bytes that are not a value.
 */
export async function readResult(
  store: ArtifactStore | undefined,
  run: string,
  artifact: string,
  clock: Clock,
): Promise<unknown> {
  if (store === undefined) throw new HeddleError('HDL_NO_ARTIFACTS', { node: run, artifact })
  const { info, bytes } = await store.open(run, artifact)
  const body = new Uint8Array(info.length)
  let at = 0
  for await (const piece of bytes) {
    body.set(piece, at)
    at += piece.length
  }
  return readFleetValue(body, clock)
}
