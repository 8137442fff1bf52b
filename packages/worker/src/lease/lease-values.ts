/** Inputs and results of jobs that are not in messages: large ones, and those that JSON cannot carry. */
import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { fleetPieces, readFleetValue, type Clock } from '@heddle/core/lowlevel'
import type { Network } from '../client/network.ts'
import { LeaseArtifacts, type ArtifactLease } from './lease-artifacts.ts'

/**
 * Downloads the input of a lease.
 *
 * *Cancellation*: the signal.
 * @throws {Refused} with status 410 when the lease has ended.
 */
export async function downloadInput(
  network: Network,
  { lease, epoch, worker }: ArtifactLease,
  clock: Clock,
  signal: AbortSignal,
): Promise<unknown> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'heddle-input-'))
  try {
    const file = path.join(folder, randomUUID())
    const query = new URLSearchParams({ epoch: String(epoch), worker })
    const target = `/fleet/inputs/${encodeURIComponent(lease)}?${query.toString()}`
    await network.download(target, file, { signal })
    network.progress(lease)
    return await readFleetValue(new Uint8Array(await readFile(file)), clock)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/**
 * Uploads the result of a lease, and gives the name of its artifact.
 *
 * *Cancellation*: the signal.
 * @throws as LeaseArtifacts.put(); `HDL_NOT_CLONEABLE` for values that the journal could not keep either.
 */
export async function uploadResult(
  network: Network,
  lease: ArtifactLease,
  value: unknown,
  clock: Clock,
  signal: AbortSignal,
): Promise<string> {
  const name = `.result/${lease.lease}`
  const pieces = fleetPieces(lease.lease, value, clock)
  await new LeaseArtifacts(network, lease).put('', name, pieces, { signal })
  return name
}
