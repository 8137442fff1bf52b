/**
 * The right to release, between machines: a Git ref of the remote that all clones push to.
 *
 *   absent ──take──▶ ours ──renew──▶ ours ──give back──▶ absent
 *     ▲                │ no renewal for `ttl`
 *     └────────────────┴──another clone takes it──▶ theirs (we stop)
 *
 * The ref points at a commit without parents whose message names its holder, and which versions its
 * release may have uploaded: a clone that takes it from a killed holder makes their Git tags. Each change
 * is a push that names the commit which it replaces, so the remote lets one of two contenders through.
 *
 * Invariants, quoted by the tests:
 *  E1  If two clones take the lease at once, one gets it.
 *  E2  A lease that its holder renews is never taken: a clone that asks for it is refused, with the name of the holder.
 *  E3  A lease that was not renewed for `ttl`, by the clock of the clone that watches it, is taken. Clocks of
 *      different machines are never compared.
 *  E4  A killed release does not wait for its own lease: the same clone, which has the lock of this
 *      machine, takes it at once.
 *  E5  A holder that has lost its lease stops before it starts another upload.
 *  E6  A holder gives back only its own lease.
 *  E7  What a killed holder has written down stays in the lease of the clone that takes it, until a release ends.
 */
import { randomUUID } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { HeddleError, isError } from '@heddle/core'
import {
  type Kernel,
  Patience,
  systemKernel,
  type Timer,
  type WaitOptions,
} from '@heddle/core/lowlevel'
import type { Repository } from '../git/repository.ts'
import { runGit } from '../git/run-git.ts'
import type { ReleaseOptions } from '../stages/release-options.ts'
import type { ReleaseFolder } from './release-folder.ts'

const leaseRef = 'refs/heddle/release'

/** Milliseconds without a renewal after which a lease is free. */
const defaultTtl = 90_000

/** Renewals in the time that a lease lives: three may be lost. */
const renewals = 4

export interface LeaseHolder {
  readonly user: string
  readonly hostname: string
  readonly pid: number
  readonly startedAt: string
  /** The page of the CI job, where there is one. */
  readonly job?: string
}

/** Versions, as `name@version`, by the commit that they are uploaded from. */
export type LeasedUploads = Readonly<Record<string, readonly string[]>>

export interface LeaseOptions extends WaitOptions {
  readonly root: string
  /** The remote that all clones push to. */
  readonly remote: string
  /** A folder of this clone alone: see E4. The caller holds the lock of this machine. */
  readonly folder: string
  readonly ttl?: number
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly kernel?: Kernel
  /** The uploads that this release has begun before. */
  readonly uploads?: LeasedUploads
  /** Called when another clone has the lease and this one watches whether it is renewed. */
  readonly onWatch?: (holder: LeaseHolder, ttl: number) => void
}

interface Content extends LeaseHolder {
  /** Which clone it is: its random id, its machine and its folder. */
  readonly clone: string
  /** Makes each renewal another commit. */
  readonly beat: number
  /** Absent in the leases of older versions. */
  readonly uploads?: LeasedUploads
}

/** A lease that is held and renewed until it is disposed. */
export class Lease implements AsyncDisposable {
  readonly #options: LeaseOptions
  readonly #kernel: Kernel
  readonly #ttl: number
  /** The uploads that a killed holder has left. */
  readonly left: LeasedUploads
  #content: Content
  readonly #lost = new AbortController()
  #commit: string
  #renewedAt: number
  #timer: Timer | undefined
  #renewing: Promise<void> | undefined

  private constructor(
    options: LeaseOptions,
    content: Content,
    commit: string,
    left: LeasedUploads,
  ) {
    this.#options = options
    this.#kernel = options.kernel ?? systemKernel
    this.#ttl = options.ttl ?? defaultTtl
    this.#content = content
    this.left = left
    this.#commit = commit
    this.#renewedAt = this.#kernel.clock.now()
    this.#arm()
  }

  /** Aborted when another clone has taken the lease, or could have (E5). */
  get lost(): AbortSignal {
    return this.#lost.signal
  }

  /**
   * Takes the lease, waiting at most `ttl` for one that its holder may not renew any more.
   *
   * *Cancellation*: leaves nothing behind.
   * *Fairness*: none; the remote decides.
   * @throws `HDL_RELEASE_LEASED` when another clone holds it; `HDL_COMMAND_FAILED` when the remote takes no
   * push from us.
   */
  static async take(options: LeaseOptions): Promise<Lease> {
    const own = await contentOf(options)
    for (;;) {
      const found = await readRef(options)
      const theirs = found === undefined ? undefined : await readContent(options, found)
      if (found !== undefined && theirs?.clone !== own.clone) {
        await watch(options, found, theirs)
      }
      const left = theirs?.uploads ?? {}
      const content = { ...own, uploads: merged(left, own.uploads) }
      const commit = await commitOf(options, content)
      if (await push(options, commit, found)) return new Lease(options, content, commit, left)
    }
  }

  /**
   * Records the versions that are about to be uploaded. A remote that cannot be reached is tried again with the next
   * renewal.
   *
   * *Cancellation*: by the signal of the lease.
   */
  async record(uploads: LeasedUploads): Promise<void> {
    await this.#renewing
    this.#content = { ...this.#content, uploads: merged(this.#content.uploads, uploads) }
    this.#timer?.cancel()
    this.#renewing = this.#renew()
    await this.#renewing
  }

  /**
   * Gives the lease back (E6). A remote that cannot be reached keeps it until it runs out.
   *
   * *Cancellation*: none.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer?.cancel()
    this.#timer = undefined
    await this.#renewing
    if (this.#lost.signal.aborted) return
    const { signal: _cancelled, ...options } = this.#options
    await push(options, undefined, this.#commit).catch(() => undefined)
  }

  #arm(): void {
    this.#timer = this.#kernel.clock.setTimer(this.#ttl / renewals, () => {
      this.#renewing = this.#renew()
    })
  }

  async #renew(): Promise<void> {
    const { clock } = this.#kernel
    const startedAt = clock.now()
    try {
      const next = { ...this.#content, beat: startedAt }
      const commit = await commitOf(this.#options, next)
      if (!(await push(this.#options, commit, this.#commit))) return this.#lose()
      this.#commit = commit
      this.#renewedAt = startedAt
    } catch {
      // The remote is out of reach. Before the lease runs out there, nothing is lost.
      const nextAt = clock.now() + this.#ttl / renewals
      if (nextAt >= this.#renewedAt + this.#ttl) return this.#lose()
    }
    if (this.#timer !== undefined) this.#arm()
  }

  #lose(): void {
    this.#lost.abort(new HeddleError('HDL_LEASE_LOST', { remote: this.#options.remote }))
  }
}

/** The lease of a release, with the details that its users need. */
export interface ReleaseLease extends AsyncDisposable {
  /** Undefined where there is none. */
  readonly lost: AbortSignal | undefined
  /** The versions that a killed holder may have uploaded. */
  readonly left: LeasedUploads
  /** Records for other clones the versions that are about to be uploaded. */
  record(uploads: LeasedUploads): Promise<void>
  warnings(): string[]
}

/**
 * Takes the lease of the remote that the options name or the repository has.
 *
 * *Cancellation*: leaves nothing behind.
 * @throws `HDL_RELEASE_LEASED`; `HDL_COMMAND_FAILED` when a remote that was named takes no push from us.
 */
export async function holdLease(
  repository: Repository | undefined,
  { folder }: Pick<ReleaseFolder, 'folder'>,
  options: ReleaseOptions,
  uploads: LeasedUploads = {},
): Promise<ReleaseLease | undefined> {
  const { lease: named, push: pushed, leaseTtl: ttl, env, kernel, signal, onNotice } = options
  if (repository === undefined || named === false) return undefined
  const wait = signal === undefined ? {} : { signal }
  const remote = named ?? pushed ?? (await repository.sharedRemote(wait))
  if (remote === undefined) return undefined
  const onWatch = (holder: LeaseHolder, life: number): void =>
    onNotice?.(
      `another clone holds the release lease (${describeHolder(holder)}); waiting up to ${Math.round(life / 1_000)} s to see whether it is still renewed`,
    )
  try {
    const lease = await Lease.take({
      root: repository.root,
      remote,
      folder,
      onWatch,
      uploads,
      ...wait,
      ...(ttl !== undefined && { ttl }),
      ...(env !== undefined && { env }),
      ...(kernel !== undefined && { kernel }),
    })
    return {
      lost: lease.lost,
      left: lease.left,
      record: (begun) => lease.record(begun),
      warnings: () => (lease.lost.aborted ? [(lease.lost.reason as Error).message] : []),
      [Symbol.asyncDispose]: () => lease[Symbol.asyncDispose](),
    }
  } catch (error) {
    if (named !== undefined || !isError(error, 'HDL_COMMAND_FAILED')) throw error
    const warning = `${remote} took no lease from us, so other clones may release at the same time: ${error.details.said.split('\n')[0]}`
    return {
      lost: undefined,
      left: {},
      record: async () => {},
      warnings: () => [warning],
      [Symbol.asyncDispose]: async () => {},
    }
  }
}

/** E2 and E3: throws when the holder renews it, returns when the time is over. */
async function watch(
  options: LeaseOptions,
  found: string,
  theirs: Content | undefined,
): Promise<void> {
  const { kernel = systemKernel, ttl = defaultTtl, remote } = options
  const holder = theirs ?? unknownHolder
  options.onWatch?.(holder, ttl)
  const patience = new Patience('waiting for the release of another clone', kernel.clock, options)
  const until = kernel.clock.now() + ttl
  // A holder renews it `renewals` times as often as it may.
  const pause = ttl / renewals / 2
  while (kernel.clock.now() < until) {
    await patience.pause(pause)
    const now = await readRef(options)
    if (now === found) continue
    if (now === undefined) return
    // A renewal that comes between the two reads takes the commit away: the holder is then the one that was seen before.
    const next = (await readContent(options, now)) ?? holder
    throw new HeddleError('HDL_RELEASE_LEASED', { remote, holder: describeHolder(next) })
  }
}

const unknownHolder: LeaseHolder = { user: 'unknown', hostname: 'unknown', pid: 0, startedAt: '' }

function describeHolder(holder: LeaseHolder): string {
  if (holder === unknownHolder) return 'its record cannot be read'
  const { user, hostname, pid, startedAt, job } = holder
  const where = job === undefined ? `process ${pid} of ${user} on ${hostname}` : job
  return `${where} since ${startedAt || 'an unknown time'}`
}

function merged(one: LeasedUploads = {}, other: LeasedUploads = {}): LeasedUploads {
  const commits = new Set([...Object.keys(one), ...Object.keys(other)])
  return Object.fromEntries(
    Array.from(commits, (commit) => [
      commit,
      [...new Set([...(one[commit] ?? []), ...(other[commit] ?? [])])],
    ]),
  )
}

async function contentOf({
  uploads = {},
  root,
  folder,
  env = process.env,
  kernel = systemKernel,
}: LeaseOptions): Promise<Content> {
  const hostname = os.hostname()
  const job = jobOf(env)
  return {
    user: env['USER'] ?? env['USERNAME'] ?? 'unknown',
    hostname,
    pid: process.pid,
    startedAt: new Date(kernel.clock.wallTime()).toISOString(),
    ...(job !== undefined && { job }),
    // A copied folder has the same id, and a container may have the same name: together they are enough.
    clone: [await idOf(folder), hostname, root].join(' '),
    beat: 0,
    uploads,
  }
}

function jobOf(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository, GITHUB_RUN_ID: run } = env
  if (run !== undefined) return `${server}/${repository}/actions/runs/${run}`
  return env['CI_JOB_URL']
}

async function idOf(folder: string): Promise<string> {
  const file = path.join(folder, 'clone-id')
  const known = await readFile(file, 'utf8').catch(() => '')
  if (known !== '') return known
  const id = randomUUID()
  await writeFile(file, id)
  return id
}

/** Makes the commit and sends it nowhere. */
async function commitOf({ root, ...wait }: LeaseOptions, content: Content): Promise<string> {
  const emptyTree = (
    await runGit(root, ['hash-object', '-t', 'tree', '-w', '--stdin'], wait)
  ).trim()
  const identity = ['-c', 'user.name=heddle', '-c', 'user.email=heddle@localhost']
  // Not as an argument: a workspace may have thousands of versions.
  const args = [...identity, 'commit-tree', '--no-gpg-sign', '-F', '-', emptyTree]
  return (await runGit(root, args, wait, JSON.stringify(content))).trim()
}

async function readRef({ root, remote, ...wait }: LeaseOptions): Promise<string | undefined> {
  const line = await runGit(root, ['ls-remote', remote, leaseRef], wait)
  return /^([0-9a-f]+)\t/.exec(line)?.[1]
}

/** Undefined when it is gone already, or is not a lease of ours. */
async function readContent(options: LeaseOptions, commit: string): Promise<Content | undefined> {
  const { root, remote, ...wait } = options
  try {
    await runGit(
      root,
      ['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', remote, leaseRef],
      wait,
    )
    return JSON.parse(await runGit(root, ['log', '-1', '--format=%B', commit], wait)) as Content
  } catch (error) {
    if (error instanceof SyntaxError || isError(error, 'HDL_COMMAND_FAILED')) return undefined
    throw error
  }
}

/**
 * Replaces `expected` by `commit`; undefined stands for no ref. False when another clone was first.
 * @throws `HDL_COMMAND_FAILED` when the remote takes no push from us.
 */
async function push(
  options: LeaseOptions,
  commit: string | undefined,
  expected: string | undefined,
): Promise<boolean> {
  const { root, remote, ...wait } = options
  const condition = `--force-with-lease=${leaseRef}:${expected ?? ''}`
  const args = ['push', '--quiet', '--no-verify', condition, remote, `${commit ?? ''}:${leaseRef}`]
  try {
    await runGit(root, args, wait)
    return true
  } catch (error) {
    if (!isError(error, 'HDL_COMMAND_FAILED')) throw error
    // The answer may be lost: the ref of the remote counts.
    const found = await readRef(options)
    if (found === commit) return true
    if (found === expected) throw error
    return false
  }
}
