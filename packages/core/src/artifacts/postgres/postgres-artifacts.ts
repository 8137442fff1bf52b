/**
 * Artifacts in PostgreSQL, in pieces: several processes on several machines share them. The transitions are functions of
 * store/postgres/artifact-schema.ts; the quota is kept there, so it holds over all processes (F3).
 *
 * A process that was silent for longer than its lease may find its draft dropped: the put fails, and the job with it.
 */
import { randomBytes } from 'node:crypto'
import { HeddleError } from '../../errors.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { readAddress, type PostgresAddress } from '../../store/postgres/address.ts'
import { isRefused, Link } from '../../store/postgres/database-link.ts'
import { migrate } from '../../store/postgres/migrate.ts'
import { callPatiently } from '../../store/postgres/patient-call.ts'
import { ProcessLease } from '../../store/postgres/process-lease.ts'
import { fromStored, toStored } from '../../store/stored-text.ts'
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
import { FolderArtifacts } from '../folder/folder-artifacts.ts'
import { damaged, Intake, ReadCheck } from '../intake.ts'
import { pieceBytes, piecesOf } from '../pieces.ts'

/** Pieces that are deleted by one statement: some milliseconds. */
const sweptAtOnce = 64

/** Sweeps after one put: the rest waits for the next one, or for a prune. */
const sweepsAfterPut = 4

const listPage = 1_000

/** Undefined tables: of a version that had no artifacts, opened by a reader. */
const absent = '42P01'

export interface PostgresArtifactsOptions {
  readonly address: PostgresAddress
  readonly kernel: Kernel
  readonly quota: ArtifactQuota
  /** Shows that this process is alive: others do not drop its drafts. */
  readonly lease: Pick<ProcessLease, 'holder' | 'hold'>
  /** Milliseconds for which a statement is sent again before it fails. Default 60,000. */
  readonly retryFor?: number | undefined
  /** The run that this process writes, if it does: another one that has taken it over makes a put fail. */
  readonly fenceOf?: (run: string) => Fence | undefined
}

/** A run by its number, and the epoch with which it is held. */
interface Fence {
  readonly run: number
  readonly epoch: number
}

/** A put under way. */
interface Draft {
  readonly run: string
  readonly name: string
  readonly isUpload: boolean
  readonly body: string
  readonly put: string
  /** Bytes of it that the database has. */
  length: number
}

type BeginAnswer =
  | { readonly body: string; readonly length: number; readonly garbage: boolean }
  | { readonly taken: string }
  | { readonly busy: true }
  | { readonly short: number }
  | { readonly full: 'bytes' | 'count' }

type ListAnswer =
  | { readonly listed: true }
  | { readonly taken: string }
  | { readonly gone: true }
  | { readonly lost: true }

type InfoColumns = [string, string, string, string, Buffer, string, string]

interface Listed extends ArtifactInfo {
  readonly body: string
}

/** Opens the artifacts of a database by themselves, without its journal. */
export async function openPostgresArtifacts(
  text: string,
  { kernel, quota }: Pick<PostgresArtifactsOptions, 'kernel' | 'quota'>,
): Promise<ArtifactStore> {
  const address = readAddress(text)
  if (address.artifacts !== undefined)
    return new FolderArtifacts(address.artifacts, { kernel, quota })
  const link = new Link({ address, clock: kernel.clock, name: 'heddle artifacts lease' })
  const lease = new ProcessLease(link, address.schema)
  const artifacts = new PostgresArtifacts({ address, kernel, quota, lease })
  const close = async (): Promise<void> => {
    await lease.release()
    await link.close()
  }
  try {
    await migrate(link, address, kernel.clock)
  } catch (error) {
    await close()
    throw error
  }
  const stop = artifacts[Symbol.asyncDispose].bind(artifacts)
  return Object.assign(artifacts, {
    [Symbol.asyncDispose]: async () => {
      await stop()
      await close()
    },
  })
}

export class PostgresArtifacts implements ArtifactStore {
  readonly #options: PostgresArtifactsOptions
  readonly #link: Link
  readonly #schema: string
  /** The artifacts that this process is writing. */
  readonly #drafts = new Set<Draft>()

  constructor(options: PostgresArtifactsOptions) {
    const { address, kernel } = options
    this.#options = options
    this.#schema = address.schema
    this.#link = new Link({
      address,
      clock: kernel.clock,
      name: 'heddle artifacts',
      answerWithin: 30_000,
    })
  }

  async put(
    run: string,
    name: string,
    content: ArtifactContent,
    options: PutArtifactOptions = {},
  ): Promise<ArtifactInfo> {
    checkArtifactName(name)
    const put = checkPut(options, this.#options.quota)
    await this.#options.lease.hold()
    const { draft, hasGarbage } = await this.#begin(run, name, put)
    const intake = new Intake(name, put, undefined)
    let info: ArtifactInfo
    let isWhole = false
    this.#drafts.add(draft)
    try {
      for await (const piece of this.#pieces(draft.body, 0, draft.length)) intake.addReceived(piece)
      const pieces = piecesOf(content, `The artifact "${name}"`, put.signal)
      for await (const piece of gathered(counted(pieces, intake))) {
        await this.#write(draft, piece, put.quota)
      }
      const received = intake.finish()
      isWhole = true
      info = await this.#list(draft, name, put, received)
    } catch (error) {
      const { upload } = put
      const isCut = upload !== undefined && !intake.isTooLong && intake.length < upload.length
      await this.#abandon(draft, isCut && !isWhole)
      throw error
    } finally {
      this.#drafts.delete(draft)
    }
    if (hasGarbage) await this.#sweep(sweepsAfterPut)
    return info
  }

  async received(run: string, name: string, upload: ArtifactUpload): Promise<number> {
    checkArtifactName(name)
    checkUpload(upload)
    const rows = await this.#read<[string]>(
      'SELECT length FROM @.artifact_draft WHERE run = $1 AND upload = $2',
      [toStored(run), uploadKey(name, upload)],
    )
    return Number(rows[0]?.[0] ?? 0)
  }

  async find(run: string, name: string): Promise<ArtifactInfo | undefined> {
    const listed = await this.#find(run, name)
    return listed && infoOf(listed)
  }

  async open(run: string, name: string, range: ArtifactRange = {}): Promise<OpenArtifact> {
    const listed = await this.#find(run, name)
    if (listed === undefined) throw new HeddleError('HDL_UNKNOWN_ARTIFACT', { run, artifact: name })
    const { start, end } = checkRange(range, listed)
    return {
      info: infoOf(listed),
      start,
      end,
      bytes: this.#checked(listed, start, end),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }
  }

  async list(run: string): Promise<readonly ArtifactInfo[]> {
    const found: ArtifactInfo[] = []
    for (let after = '0'; ;) {
      const page = await this.#listed('run = $1 AND number > $2 ORDER BY number LIMIT $3', [
        toStored(run),
        after,
        listPage,
      ])
      found.push(...page.map(({ info }) => infoOf(info)))
      if (page.length < listPage) return found
      after = page.at(-1)!.number
    }
  }

  async remove(run: string): Promise<number> {
    const bytes = Number(await this.#call<string>('artifact_remove_1', [toStored(run)]))
    await this.#sweep(Infinity)
    return bytes
  }

  async *sizes(): AsyncGenerator<readonly [run: string, bytes: number], void, undefined> {
    for (let after = ''; ;) {
      const page = await this.#read<[string, string]>(
        'SELECT run, bytes FROM @.artifact_budget WHERE run > $1 ORDER BY run LIMIT $2',
        [after, listPage],
      )
      for (const [run, bytes] of page) yield [fromStored(run), Number(bytes)]
      if (page.length < listPage) return
      after = page.at(-1)![0]
    }
  }

  /** Deletes a slice of the pieces of removed or replaced artifacts. Returns whether there may be more. */
  sweepSlice(): Promise<boolean> {
    return this.#call<boolean>('artifact_sweep_1', [sweptAtOnce])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#link.close()
  }

  async #begin(
    run: string,
    name: string,
    put: CheckedPut,
    allowance = 0,
  ): Promise<{ readonly draft: Draft; readonly hasGarbage: boolean }> {
    const { by, start, length, upload, quota } = put
    const [body, id] = [randomBytes(12).toString('hex'), randomBytes(12).toString('hex')]
    const answer = await this.#call<BeginAnswer>('artifact_begin_1', [
      toStored(run),
      name,
      toStored(by),
      body,
      id,
      upload === undefined ? null : uploadKey(name, upload),
      start,
      length === undefined ? 0 : Math.max(0, length - start),
      this.#options.lease.holder,
      quota.bytes + allowance,
      quota.count,
    ])
    if ('body' in answer) {
      const isUpload = upload !== undefined
      const draft = { run, name, isUpload, body: answer.body, put: id, length: answer.length }
      return { draft, hasGarbage: answer.garbage }
    }
    if ('taken' in answer) throw takenError(run, name, by, answer.taken)
    if ('busy' in answer) throw new HeddleError('HDL_ARTIFACT_BUSY', { artifact: name })
    if ('short' in answer) {
      const [expected, found] = [`${start} bytes so far`, `${answer.short}`]
      throw new HeddleError('HDL_ARTIFACT_MISMATCH', { artifact: name, expected, found })
    }
    if (answer.full === 'bytes' && allowance === 0) {
      const own = { run, name, isUpload: upload !== undefined, length: length ?? 0 }
      const more = await this.#replacedBytes(own)
      if (more > 0) return this.#begin(run, name, put, more)
    }
    throw full(run, quota, answer.full)
  }

  /**
   * Bytes that the budget has twice: an artifact and the one that replaces it count as the larger of the two (F3). The
   * kept part of an interrupted upload counts beside the artifact that it is to replace.
   */
  async #replacedBytes(own: Pick<Draft, 'run' | 'name' | 'isUpload' | 'length'>): Promise<number> {
    const written = new Map<string, number>()
    for (const { run, name, isUpload, length } of [...this.#drafts, own]) {
      if (run !== own.run || isUpload) continue
      written.set(name, Math.max(written.get(name) ?? 0, length))
    }
    // One that is listed while its answer is on the way replaces nothing any more.
    const bodies = new Set([...this.#drafts].map(({ body }) => body))
    let bytes = 0
    for (const [name, length] of written) {
      const listed = await this.#find(own.run, name)
      if (listed !== undefined && !bodies.has(listed.body)) bytes += Math.min(length, listed.length)
    }
    return bytes
  }

  async #write(draft: Draft, bytes: Uint8Array, quota: ArtifactQuota): Promise<void> {
    const { run, body, put, length } = draft
    const write = (most: number): Promise<'written' | 'full' | 'gone'> =>
      this.#call('artifact_piece_1', [toStored(run), body, put, length, bytes, most])
    let answer = await write(quota.bytes)
    if (answer === 'full') {
      const more = await this.#replacedBytes({ ...draft, length: length + bytes.length })
      if (more > 0) answer = await write(quota.bytes + more)
    }
    if (answer === 'full') throw full(run, quota, 'bytes')
    if (answer === 'gone') throw this.#gone(draft)
    draft.length += bytes.length
  }

  async #list(
    draft: Draft,
    name: string,
    { by, createdAt = this.#options.kernel.clock.wallTime() }: CheckedPut,
    { length, sha256 }: { readonly length: number; readonly sha256: string },
  ): Promise<ArtifactInfo> {
    const { run, body, put } = draft
    const fence = this.#options.fenceOf?.(run)
    const answer = await this.#call<ListAnswer>('artifact_list_1', [
      toStored(run),
      name,
      toStored(by),
      body,
      put,
      length,
      sha256,
      createdAt,
      fence?.run ?? null,
      fence?.epoch ?? null,
    ])
    if ('listed' in answer) return { run, name, length, sha256, createdAt, by }
    if ('taken' in answer) throw takenError(run, name, by, answer.taken)
    if ('lost' in answer) throw new HeddleError('HDL_RUN_LOST', { run, epoch: fence!.epoch })
    throw this.#gone(draft)
  }

  /** F6. A draft that cannot be dropped now is dropped by the next process that writes artifacts of the run. */
  async #abandon({ run, body, put }: Draft, isKept: boolean): Promise<void> {
    try {
      await this.#call('artifact_abandon_1', [toStored(run), body, put, isKept])
      if (!isKept) await this.#sweep(sweepsAfterPut)
    } catch {
      // The error that made the put fail says more.
    }
  }

  async #sweep(slices: number): Promise<void> {
    for (let count = 0; count < slices; count++) if (!(await this.sweepSlice())) return
  }

  async #find(run: string, name: string): Promise<Listed | undefined> {
    if (!name.isWellFormed() || name.includes('\0')) return undefined
    const [found] = await this.#listed('run = $1 AND name = $2', [toStored(run), name])
    return found?.info
  }

  async #listed(
    where: string,
    parameters: readonly unknown[],
  ): Promise<{ readonly info: Listed; readonly number: string }[]> {
    const rows = await this.#read<InfoColumns | [...InfoColumns, string]>(
      `SELECT run, name, length, sha256, float8send(created_at), writer, body, number FROM @.artifact WHERE ${where}`,
      parameters,
    )
    return rows.map(([run, name, length, sha256, createdAt, by, body, number]) => ({
      info: {
        run: fromStored(run),
        name,
        length: Number(length),
        sha256,
        createdAt: createdAt.readDoubleBE(),
        by: fromStored(by),
        body,
      },
      number: number!,
    }))
  }

  /** F5. */
  async *#checked(
    listed: Listed,
    start: number,
    end: number,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const { length, sha256, body } = listed
    const check = start === 0 && end === length ? new ReadCheck() : undefined
    let at = start
    for await (const piece of this.#pieces(body, start, end)) {
      check?.add(piece)
      at += piece.length
      // The last piece is held back until all of them are known to be right.
      if (at === end && check !== undefined && !check.holds(sha256)) {
        throw damaged(listed, `its bytes do not have the checksum ${sha256}`)
      }
      yield piece
    }
    if (at < end) throw damaged(listed, 'its bytes are gone')
  }

  /** The bytes of a body, as far as they are there. */
  async *#pieces(
    body: string,
    start: number,
    end: number,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    for (let at = start; at < end;) {
      const [row] = await this.#read<[string, Uint8Array]>(
        'SELECT start, bytes FROM @.artifact_piece WHERE body = $1 AND start <= $2 ORDER BY start DESC LIMIT 1',
        [body, at],
      )
      if (row === undefined) return
      const from = Number(row[0])
      const piece = row[1].subarray(at - from, end - from)
      if (piece.length === 0) return
      at += piece.length
      yield piece
    }
  }

  #gone({ run }: Draft): HeddleError {
    return new HeddleError('HDL_STORE_FAILED', {
      store: this.#options.address.shown,
      action: 'hold an artifact',
      cause: `the artifacts of run ${run} were removed meanwhile, or this process did not answer for longer than its lease`,
    })
  }

  /** Calls a function of the schema that may be called twice. */
  async #call<T>(name: string, parameters: readonly unknown[]): Promise<T> {
    const { kernel, retryFor = 60_000 } = this.#options
    const places = parameters.map((_, index) => `$${index + 1}`).join(', ')
    const [row] = await callPatiently<[T]>(
      this.#link,
      { clock: kernel.clock, retryFor },
      'hold an artifact',
      `SELECT ${this.#schema}.${name}(${places})`,
      parameters,
    )
    return row![0]
  }

  async #read<Row extends unknown[]>(
    statement: string,
    parameters: readonly unknown[],
  ): Promise<Row[]> {
    const { kernel, retryFor = 60_000 } = this.#options
    const patience = { clock: kernel.clock, retryFor }
    const text = statement.replaceAll('@.', `${this.#schema}.`)
    try {
      return await callPatiently<Row>(this.#link, patience, 'be read', text, parameters)
    } catch (error) {
      if (isRefused(error, absent)) return []
      throw error
    }
  }
}

/** Counts and hashes pieces on their way. */
async function* counted(
  pieces: AsyncIterable<Uint8Array>,
  intake: Intake,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const piece of pieces) {
    intake.add(piece)
    yield piece
  }
}

/**
 * Gathers small pieces, because each that is written costs a statement. Gathered pieces come out before the error of
 * interrupted content. A piece is valid until the next one is requested.
 */
async function* gathered(
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  let buffer: Uint8Array | undefined
  let length = 0
  try {
    for await (const piece of pieces) {
      if (length === 0 && piece.length === pieceBytes) {
        yield piece
        continue
      }
      buffer ??= new Uint8Array(pieceBytes)
      const fitting = piece.subarray(0, pieceBytes - length)
      buffer.set(fitting, length)
      length += fitting.length
      if (length < pieceBytes) continue
      yield buffer
      buffer.set(piece.subarray(fitting.length))
      length = piece.length - fitting.length
    }
  } catch (error) {
    if (length > 0) yield buffer!.subarray(0, length)
    throw error
  }
  if (length > 0) yield buffer!.subarray(0, length)
}

function infoOf({ body: _body, ...info }: Listed): ArtifactInfo {
  return info
}

function takenError(run: string, name: string, by: string, holder: string): HeddleError {
  return new HeddleError('HDL_ARTIFACT_TAKEN', {
    run,
    artifact: name,
    by,
    holder: fromStored(holder),
  })
}

function full(run: string, quota: ArtifactQuota, what: 'bytes' | 'count'): HeddleError {
  const shown = what === 'bytes' ? `${quota.bytes} bytes` : `${quota.count} artifacts`
  return new HeddleError('HDL_ARTIFACT_QUOTA', { run, quota: shown })
}

function uploadKey(name: string, { length, sha256 }: ArtifactUpload): string {
  return `${sha256} ${length} ${name}`
}
