/** Artifacts that live as long as the process: for tests, and beside a journal in memory. */
import { HeddleError } from '../../errors.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import type {
  ArtifactContent,
  ArtifactInfo,
  ArtifactQuota,
  ArtifactRange,
  ArtifactStore,
  ArtifactUpload,
  OpenArtifact,
  PutArtifactOptions,
} from '../artifact-store.ts'
import {
  checkArtifactName,
  checkPut,
  checkRange,
  checkUpload,
  type CheckedPut,
} from '../check-artifact.ts'
import { Budget, Intake } from '../intake.ts'
import { piecesOf } from '../pieces.ts'

interface Kept {
  readonly info: ArtifactInfo
  readonly pieces: readonly Uint8Array[]
}

class MemoryRun {
  readonly budget: Budget
  readonly kept = new Map<string, Kept>()
  /** Uploads that were cut, by what names them. */
  readonly cut = new Map<string, Uint8Array[]>()
  readonly uploads = new Set<string>()

  constructor(run: string) {
    this.budget = new Budget(run)
  }
}

export class MemoryArtifacts implements ArtifactStore {
  readonly #kernel: Kernel
  readonly #quota: ArtifactQuota
  readonly #runs = new Map<string, MemoryRun>()

  constructor(kernel: Kernel, quota: ArtifactQuota) {
    this.#kernel = kernel
    this.#quota = quota
  }

  async put(
    run: string,
    name: string,
    content: ArtifactContent,
    options: PutArtifactOptions = {},
  ): Promise<ArtifactInfo> {
    checkArtifactName(name)
    const put = checkPut(options, this.#quota)
    let of = this.#runs.get(run)
    if (of === undefined) this.#runs.set(run, (of = new MemoryRun(run)))
    checkOwner(run, of, name, put.by)
    const key = put.upload && keyOf(name, put.upload)
    if (key !== undefined && of.uploads.has(key)) {
      throw new HeddleError('HDL_ARTIFACT_BUSY', { artifact: name })
    }
    const isNew = !of.kept.has(name)
    if (isNew) of.budget.take(put.quota, { count: 1 })
    if (key !== undefined) of.uploads.add(key)
    // The kept part of an interrupted upload counts beside the artifact that it is to replace.
    const replaced = key === undefined ? (of.kept.get(name)?.info.length ?? 0) : 0
    const credit = of.budget.startReplacing(name, replaced)
    try {
      return await this.#receive(run, of, name, content, put, { key, credit })
    } finally {
      if (credit > 0) of.budget.endReplacing(name)
      if (key !== undefined) of.uploads.delete(key)
      if (isNew) of.budget.giveBack({ count: 1 })
    }
  }

  async #receive(
    run: string,
    of: MemoryRun,
    name: string,
    content: ArtifactContent,
    put: CheckedPut,
    { key, credit }: { readonly key: string | undefined; readonly credit: number },
  ): Promise<ArtifactInfo> {
    const { start, by, upload, signal } = put
    const { budget } = of
    const pieces = key === undefined ? [] : cutBack(of, key, name, start)
    const intake = new Intake(name, put, budget, credit)
    for (const piece of pieces) intake.addReceived(piece)
    try {
      for await (const piece of piecesOf(content, `The artifact "${name}"`, signal)) {
        intake.add(piece)
        pieces.push(piece.slice())
      }
      const received = intake.finish()
      checkOwner(run, of, name, by)
      const createdAt = put.createdAt ?? this.#kernel.clock.wallTime()
      const info: ArtifactInfo = { run, name, ...received, createdAt, by }
      const earlier = of.kept.get(name)
      if (earlier === undefined) budget.count++
      else {
        const counted = start + intake.taken + earlier.info.length
        budget.giveBack({ bytes: counted - received.length })
      }
      of.kept.delete(name)
      of.kept.set(name, { info, pieces })
      if (key !== undefined) of.cut.delete(key)
      return info
    } catch (error) {
      const isCut = upload !== undefined && !intake.isTooLong && intake.length < upload.length
      if (key !== undefined && isCut) of.cut.set(key, pieces)
      else {
        if (key !== undefined) of.cut.delete(key)
        budget.giveBack({ bytes: start + intake.taken })
      }
      throw error
    }
  }

  async received(run: string, name: string, upload: ArtifactUpload): Promise<number> {
    checkArtifactName(name)
    checkUpload(upload)
    return sizeOf(this.#runs.get(run)?.cut.get(keyOf(name, upload)) ?? [])
  }

  async find(run: string, name: string): Promise<ArtifactInfo | undefined> {
    return this.#runs.get(run)?.kept.get(name)?.info
  }

  async open(run: string, name: string, range: ArtifactRange = {}): Promise<OpenArtifact> {
    const found = this.#runs.get(run)?.kept.get(name)
    if (found === undefined) throw new HeddleError('HDL_UNKNOWN_ARTIFACT', { run, artifact: name })
    const { info, pieces } = found
    const { start, end } = checkRange(range, info)
    return {
      info,
      start,
      end,
      bytes: readPieces(pieces, start, end),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }
  }

  async list(run: string): Promise<readonly ArtifactInfo[]> {
    return [...(this.#runs.get(run)?.kept.values() ?? [])].map(({ info }) => info)
  }

  async remove(run: string): Promise<number> {
    const bytes = this.#runs.get(run)?.budget.bytes ?? 0
    this.#runs.delete(run)
    return bytes
  }

  async *sizes(): AsyncGenerator<readonly [run: string, bytes: number], void, undefined> {
    for (const [run, { budget }] of this.#runs) yield [run, budget.bytes]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Nothing is held but memory.
  }
}

/** F2. */
function checkOwner(run: string, of: MemoryRun, name: string, by: string): void {
  const holder = of.kept.get(name)?.info.by
  if (holder === undefined || holder === by) return
  throw new HeddleError('HDL_ARTIFACT_TAKEN', { run, artifact: name, by, holder })
}

/** What has arrived of an upload, cut back to where its content begins. */
function cutBack(of: MemoryRun, key: string, name: string, start: number): Uint8Array[] {
  const size = sizeOf(of.cut.get(key) ?? [])
  if (size < start) {
    const [expected, found] = [`${start} bytes so far`, `${size}`]
    throw new HeddleError('HDL_ARTIFACT_MISMATCH', { artifact: name, expected, found })
  }
  const pieces = [...readSlices(of.cut.get(key) ?? [], 0, start)]
  of.cut.set(key, pieces)
  of.budget.giveBack({ bytes: size - start })
  return pieces
}

async function* readPieces(
  pieces: readonly Uint8Array[],
  start: number,
  end: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  yield* readSlices(pieces, start, end)
}

function* readSlices(
  pieces: readonly Uint8Array[],
  start: number,
  end: number,
): Generator<Uint8Array, void, undefined> {
  let at = 0
  for (const piece of pieces) {
    const slice = piece.subarray(Math.max(0, start - at), Math.max(0, end - at))
    at += piece.length
    if (slice.length > 0) yield slice
  }
}

function keyOf(name: string, { length, sha256 }: ArtifactUpload): string {
  return `${sha256} ${length} ${name}`
}

function sizeOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0)
}
