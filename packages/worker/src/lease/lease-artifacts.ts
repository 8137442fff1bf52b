/**
 * What jobs of a worker leave (`ctx.artifact(name, content)`), sent to the server: into a file first, because an upload says its
 * length and checksum before its first byte, then as a stream that continues after a cut.
 */
import { createHash, randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ArtifactContent, ArtifactInfo } from '@heddle/core'
import type { ArtifactStore, PutArtifactOptions } from '@heddle/core/lowlevel'
import type { Network } from '../client/network.ts'

export interface ArtifactLease {
  readonly lease: string
  readonly epoch: number
  readonly worker: string
}

export class LeaseArtifacts implements Pick<ArtifactStore, 'put'> {
  readonly #network: Network
  readonly #lease: ArtifactLease

  constructor(network: Network, lease: ArtifactLease) {
    this.#network = network
    this.#lease = lease
  }

  /**
   * *Cancellation*: its signal ends the upload; the server keeps the received bytes for some time.
   * @throws {Refused} with status 410 when the lease has ended, 413 over the quota, 409 for a name of other work.
   */
  async put(
    _run: string,
    name: string,
    content: ArtifactContent,
    { signal }: PutArtifactOptions = {},
  ): Promise<ArtifactInfo> {
    const folder = await mkdtemp(path.join(os.tmpdir(), 'heddle-artifact-'))
    try {
      const file = path.join(folder, randomUUID())
      const { length, sha256 } = await store(content, file, signal)
      const { lease, epoch, worker } = this.#lease
      const query = new URLSearchParams({
        name,
        epoch: String(epoch),
        worker,
        length: String(length),
        sha256,
      })
      const target = `/fleet/artifacts/${encodeURIComponent(lease)}?${query.toString()}`
      this.#network.progress(lease)
      const info = await this.#network.upload<ArtifactInfo & { created_at: number }>(
        target,
        file,
        length,
        signal === undefined ? {} : { signal },
      )
      this.#network.progress(lease)
      return { run: info.run, name, length, sha256, createdAt: info.created_at, by: info.by }
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
}

async function store(
  content: ArtifactContent,
  file: string,
  signal: AbortSignal | undefined,
): Promise<{ length: number; sha256: string }> {
  const hash = createHash('sha256')
  let length = 0
  const measure = new Transform({
    transform: (piece: Buffer, _, done) => {
      hash.update(piece)
      length += piece.length
      done(null, piece)
    },
  })
  // A text or bytes are one piece: their elements are not.
  const pieces = typeof content === 'string' || content instanceof Uint8Array ? [content] : content
  const source = Readable.from(toBytes(pieces), { objectMode: false })
  const options = signal === undefined ? {} : { signal }
  await pipeline(source, measure, createWriteStream(file), options)
  return { length, sha256: hash.digest('hex') }
}

async function* toBytes(
  pieces: Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>,
): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) yield typeof piece === 'string' ? Buffer.from(piece) : piece
}
