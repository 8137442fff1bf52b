import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { isError } from '@heddle/core'
import { seededRandom } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { startFaultProxy } from '../../src/testing/fault-proxy.ts'
import { startVerdaccio } from '../../src/testing/verdaccio.ts'
import { Lease, type LeaseOptions } from '../../src/lock/lease.ts'
import { until } from '../../../core/test/kernel/until.ts'
import { Monorepo } from '../support/monorepo.ts'
import { outcomesOf, publishManifests } from '../support/publish.ts'

/** A bare remote and clones of it, as CI jobs have them. */
class Clones implements Disposable {
  readonly #folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-lease-'))
  readonly remote = path.join(this.#folder, 'remote.git')
  readonly clock = new VirtualClock()

  constructor(repo: Pick<Monorepo, 'root'>) {
    git(this.#folder, 'clone', '--quiet', '--bare', repo.root, this.remote)
  }

  add(name: string): string {
    const root = path.join(this.#folder, name)
    git(this.#folder, 'clone', '--quiet', this.remote, root)
    mkdirSync(path.join(root, '.git/heddle'))
    return root
  }

  options(root: string, more: Partial<LeaseOptions> = {}): LeaseOptions {
    const kernel = { clock: this.clock, random: seededRandom(1) }
    const folder = path.join(root, '.git/heddle')
    return {
      root,
      folder,
      remote: 'origin',
      ttl: 80_000,
      env: { USER: name(root) },
      kernel,
      ...more,
    }
  }

  /** Lets time pass until the promise is settled; Git runs in real time beside it. */
  async while<T>(promise: Promise<T>, step = 10_000): Promise<T> {
    let isOver = false
    const over = promise.finally(() => (isOver = true))
    over.catch(() => undefined)
    while (!isOver) {
      if (this.clock.pending > 0) await this.clock.advance(step)
      await setImmediate()
    }
    return over
  }

  /** Lets the holder renew its lease once. */
  async renewed(): Promise<void> {
    const before = this.ref
    await this.clock.advance(20_000)
    await until(() => this.ref !== before)
  }

  get ref(): string {
    return git(this.remote, 'for-each-ref', 'refs/heddle')
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

const name = (root: string): string => path.basename(root)

const git = (cwd: string, ...args: string[]): string =>
  execFileSync('git', args, { cwd, encoding: 'utf8', stdio: 'pipe' })

test('E1 if two clones take the lease at once, one gets it; it is released', async () => {
  using repo = new Monorepo({ packages: { a: [] } })
  using clones = new Clones(repo)
  const held: Lease[] = []
  let watching = 0
  const onWatch = (): void => void watching++
  const takes = ['one', 'two', 'three'].map(async (each) => {
    held.push(await Lease.take(clones.options(clones.add(each), { onWatch })))
  })
  // No time passes: every clone that did not get it watches.
  await until(() => held.length + watching === 3)
  assert.equal(held.length, 1)
  await held.pop()![Symbol.asyncDispose]()
  assert.equal(clones.ref, '')
  const ends = await clones.while(Promise.allSettled(takes))
  for (const end of ends) {
    if (end.status === 'rejected') assert.ok(isError(end.reason, 'HDL_RELEASE_LEASED'))
  }
  for (const lease of held) await lease[Symbol.asyncDispose]()
})

test('E2 a lease that is renewed is not taken: the second clone is refused with its holder', async () => {
  using repo = new Monorepo({ packages: { a: [] } })
  using clones = new Clones(repo)
  await using _held = await Lease.take(clones.options(clones.add('first')))
  const watched: string[] = []
  const onWatch: LeaseOptions['onWatch'] = ({ user }) => watched.push(user)
  const second = Lease.take(clones.options(clones.add('second'), { onWatch }))
  second.catch(() => undefined)
  await until(() => watched.length > 0)
  await clones.renewed()
  await assert.rejects(clones.while(second), (error) => {
    assert.ok(isError(error, 'HDL_RELEASE_LEASED'))
    assert.match(error.message, /process \d+ of first on /)
    return true
  })
  assert.deepEqual(watched, ['first'])
})

test('E3, E5, E6 a holder that stands still loses its lease, learns it, and leaves the next one alone', async () => {
  using repo = new Monorepo({ packages: { a: [] } })
  using clones = new Clones(repo)
  // A clock that does not move stands for a laptop that sleeps.
  const asleep = new VirtualClock()
  const kernel = { clock: asleep, random: seededRandom(1) }
  const first = await Lease.take(clones.options(clones.add('first'), { kernel }))
  await using second = await clones.while(Lease.take(clones.options(clones.add('second'))))
  const held = clones.ref
  assert.equal(first.lost.aborted, false)
  await asleep.advance(20_000)
  await until(() => first.lost.aborted)
  assert.ok(isError(first.lost.reason, 'HDL_LEASE_LOST'))
  await first[Symbol.asyncDispose]()
  assert.equal(clones.ref, held)
  assert.equal(second.lost.aborted, false)
})

test('E4 the lease of a killed process does not stop the same clone', async () => {
  using repo = new Monorepo({ packages: { a: [] } })
  using clones = new Clones(repo)
  const root = clones.add('first')
  const asleep = { clock: new VirtualClock(), random: seededRandom(1) }
  await Lease.take(clones.options(root, { kernel: asleep }))
  // No time passes.
  const again = await Lease.take(clones.options(root))
  await again[Symbol.asyncDispose]()
  assert.equal(clones.ref, '')
})

test('E7 the record of a killed holder stays until a release ends', async () => {
  using repo = new Monorepo({ packages: { a: [] } })
  using clones = new Clones(repo)
  const asleep = { clock: new VirtualClock(), random: seededRandom(1) }
  const first = await Lease.take(clones.options(clones.add('first'), { kernel: asleep }))
  await first.record({ c1: ['a@1.0.0'] })
  await first.record({ c1: ['b@1.0.0'] })
  const stopped = { kernel: { clock: new VirtualClock(), random: seededRandom(1) } }
  const second = clones.add('second')
  const taken = await clones.while(Lease.take(clones.options(second)))
  assert.deepEqual(taken.left, { c1: ['a@1.0.0', 'b@1.0.0'] })
  // Killed as well: the same clone takes it again, and still finds the record of the first one.
  const again = await Lease.take(
    clones.options(second, { ...stopped, uploads: { c2: ['a@1.1.0'] } }),
  )
  assert.deepEqual(again.left, taken.left)
  await again[Symbol.asyncDispose]()
  assert.equal(clones.ref, '')
  const last = await Lease.take(clones.options(second))
  assert.deepEqual(last.left, {})
  await last[Symbol.asyncDispose]()
  await taken[Symbol.asyncDispose]()
})

test('E5 a remote that cannot be reached: before the lease runs out there, the holder stops', async () => {
  using repo = new Monorepo({ packages: { a: [] } })
  using clones = new Clones(repo)
  const lease = await Lease.take(clones.options(clones.add('first')))
  rmSync(clones.remote, { recursive: true })
  const startedAt = clones.clock.now()
  while (!lease.lost.aborted) {
    if (clones.clock.pending > 0) await clones.clock.advance(10_000)
    await setImmediate()
  }
  assert.ok(clones.clock.now() - startedAt <= 80_000)
  await lease[Symbol.asyncDispose]()
})

test('E2 a lease whose new record cannot be read is refused with the last known holder', async () => {
  using repo = new Monorepo({ packages: { a: [] } })
  using clones = new Clones(repo)
  await using _held = await Lease.take(clones.options(clones.add('first')))
  let isWatching = false
  const onWatch = (): void => void (isWatching = true)
  const second = Lease.take(clones.options(clones.add('second'), { onWatch }))
  second.catch(() => undefined)
  await until(() => isWatching)
  // A commit without a record, as one that a renewal has taken away between two reads.
  git(clones.remote, 'update-ref', 'refs/heddle/release', 'HEAD')
  await assert.rejects(clones.while(second), /of first on /)
})

test('while one clone releases, another is refused with the holder; afterwards nothing is uploaded twice', async () => {
  await using registry = await startVerdaccio()
  using repo = new Monorepo({ packages: { la: [], lb: ['la'] } })
  using clones = new Clones(repo)
  const [one, two] = [clones.add('one'), clones.add('two')]
  await using proxy = await startFaultProxy({ target: registry.url })
  const { kernel, ttl } = clones.options(two)
  const held = await Lease.take(clones.options(one))
  const notices: string[] = []
  const second = publishManifests({ root: two }, proxy.url, {
    kernel: kernel!,
    leaseTtl: ttl!,
    onNotice: (text) => notices.push(text),
  })
  second.catch(() => undefined)
  await until(() => notices.length > 0)
  assert.match(notices[0]!, /another clone holds the release lease \(process \d+ of one on /)
  await clones.renewed()
  await assert.rejects(clones.while(second), (error) => {
    assert.ok(isError(error, 'HDL_RELEASE_LEASED'))
    assert.match(error.message, /of one on /)
    return true
  })
  assert.equal(proxy.uploads.size, 0)
  await held[Symbol.asyncDispose]()
  const first = await publishManifests({ root: one }, proxy.url)
  assert.deepEqual(outcomesOf(first), { la: 'published', lb: 'published' })
  assert.equal(clones.ref, '')
  const report = await publishManifests({ root: two }, proxy.url)
  assert.equal(report.ok, true)
  assert.deepEqual(outcomesOf(report), { la: 'already-published', lb: 'already-published' })
  assert.equal(proxy.uploads.get('la@1.0.0')?.sent, 1)
})

test('a remote that takes no push gives a warning; one that was named ends the release', async () => {
  await using registry = await startVerdaccio()
  using repo = new Monorepo({ packages: { lc: [] } })
  using clones = new Clones(repo)
  const root = clones.add('one')
  git(root, 'remote', 'set-url', '--push', 'origin', path.join(root, 'nowhere'))
  await assert.rejects(publishManifests({ root }, registry.url, { lease: 'origin' }), (error) =>
    isError(error, 'HDL_COMMAND_FAILED'),
  )
  const report = await publishManifests({ root }, registry.url)
  assert.equal(report.ok, true)
  assert.match(report.warnings.join('\n'), /origin took no lease from us/)
})
