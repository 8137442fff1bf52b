import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError, type HeddleError } from '@heddle/core'
import { classOf } from '../../src/registry/error-class.ts'
import {
  publishOnce,
  type PublishOptions,
  type UploadFailure,
} from '../../src/registry/reconcile.ts'
import { ModelRegistry, paperPackage, type ModelOptions } from '../support/model-registry.ts'
import { largest, virtualKernel } from '../support/virtual-time.ts'

async function publish(
  model: Omit<ModelOptions, 'kernel'>,
  options: Partial<PublishOptions> = {},
): Promise<{ outcome: string; registry: ModelRegistry; error?: unknown; took: number }> {
  const kernel = virtualKernel(largest)
  const registry = new ModelRegistry({ ...model, kernel })
  const work = publishOnce(registry, paperPackage(), { distTag: 'latest', kernel, ...options })
  try {
    const { outcome } = await kernel.clock.runUntil(work)
    return { outcome, registry, took: kernel.clock.now() }
  } catch (error) {
    return { outcome: String(classOf(error)), registry, error, took: kernel.clock.now() }
  } finally {
    assert.equal(kernel.clock.pending, 0, 'no timer is left behind')
  }
}

const kinds = (registry: ModelRegistry): string =>
  registry.history.map(({ what }) => what[0]).join('')

test('it is read, uploaded and accepted', async () => {
  const { outcome, registry } = await publish({ fates: [] })
  assert.equal(outcome, 'accepted')
  assert.equal(kinds(registry), 'ru')
})

test('a version that is there with our hashes is not uploaded', async () => {
  const { outcome, registry } = await publish({ fates: [], other: { at: 0, hash: 'sha512-ours' } })
  assert.equal(outcome, 'already-published')
  assert.equal(kinds(registry), 'r')
})

test('R6: a version that is there with different content is a conflict, and nothing is uploaded', async () => {
  const { error, registry } = await publish({ fates: [], other: { at: 0, hash: 'sha512-theirs' } })
  assert.ok(isError(error, 'HDL_VERSION_CONFLICT'))
  assert.match(error.message, /expected sha512-ours, found sha512-theirs/)
  assert.equal(kinds(registry), 'r')
})

test('scenario 88: a lost answer is found by a read: one upload', async () => {
  const { outcome, registry } = await publish({ fates: ['lost-answer'] })
  assert.equal(outcome, 'published')
  assert.equal(kinds(registry), 'rur')
})

test('R2: a lost answer is found although the version shows late', async () => {
  const { outcome, registry, took } = await publish({
    fates: ['lost-answer'],
    visibleAfter: 15_000,
  })
  assert.equal(outcome, 'published')
  assert.equal(registry.history.filter(({ what }) => what === 'upload').length, 1)
  assert.ok(took < 20_000)
})

test('R2: a version that shows very late is accepted, and reported as accepted', async () => {
  const { outcome, registry } = await publish({
    fates: ['lost-answer'],
    visibleAfter: 20 * 60_000,
  })
  assert.equal(outcome, 'accepted-not-visible')
  assert.equal(registry.accepted, 1)
  const uploads = registry.history.filter(({ what }) => what === 'upload')
  assert.equal(uploads.length, 2, 'the second one is refused by the registry')
  assert.ok(uploads[1]!.at - uploads[0]!.at >= 20_000, 'not before absence says something')
})

test('R2: a request that got lost is sent again after absence has settled', async () => {
  const { outcome, registry, took } = await publish({ fates: ['lost-request'] })
  assert.equal(outcome, 'accepted')
  assert.equal(registry.accepted, 1)
  assert.ok(took >= 20_000)
})

test('a request that never left is sent again without that wait', async () => {
  const { outcome, registry, took } = await publish({ fates: ['not-connected', 'not-connected'] })
  assert.equal(outcome, 'accepted')
  assert.equal(kinds(registry), 'rurrurru')
  assert.ok(took < 5000, `took ${took} ms`)
})

test('scenario 89: "Failed to save packument" is tried again and never "already published"', async () => {
  const { outcome, registry } = await publish({ fates: ['busy'] })
  assert.equal(outcome, 'accepted')
  assert.equal(registry.accepted, 1)
  assert.equal(kinds(registry), 'rurru')
})

test('scenario 91, R4: an upload that is refused for good is not tried again', async () => {
  for (const fate of ['unauthorized', 'poison'] as const) {
    const { outcome, registry } = await publish({ fates: [fate] })
    assert.equal(outcome, fate === 'poison' ? 'poison' : 'auth')
    assert.equal(kinds(registry), 'rur')
  }
})

test('refused for good, but another run has published the same: it is there', async () => {
  const other = { at: 6, hash: 'sha512-ours' }
  const { outcome } = await publish({ fates: ['unauthorized'], other })
  assert.equal(outcome, 'published')
})

test('two runs at once: the second finds the upload of the first', async () => {
  const kernel = virtualKernel(largest)
  const registry = new ModelRegistry({ kernel, fates: [], visibleAfter: 3000 })
  const one = (): Promise<unknown> =>
    publishOnce(registry, paperPackage(), { distTag: 'latest', kernel }).then(
      ({ outcome }) => outcome,
    )
  const outcomes = await kernel.clock.runUntil(Promise.all([one(), one()]))
  assert.deepEqual(outcomes, ['accepted', 'published'])
  assert.equal(registry.accepted, 1)
})

test('a version that the registry claims to have and never shows, without an upload of ours', async () => {
  const other = { at: 7, hash: 'sha512-theirs' }
  const { error, registry } = await publish({ fates: [], other, visibleAfter: 10 * 60_000 })
  assert.ok(isError(error, 'HDL_VERSION_CONFLICT'))
  assert.equal(registry.accepted, 0)
})

test('an upload that an earlier run began is searched for before there is another one', async () => {
  const other = { at: 0, hash: 'sha512-ours' }
  const found = await publish({ fates: [], other, visibleAfter: 15_000 }, { uploadBegun: true })
  assert.equal(found.outcome, 'published')
  assert.doesNotMatch(kinds(found.registry), /u/)
  const lost = await publish({ fates: [] }, { uploadBegun: true })
  assert.equal(lost.outcome, 'accepted')
  assert.ok(lost.took >= 20_000)
  const late = await publish({ fates: [], other, visibleAfter: 600_000 }, { uploadBegun: true })
  assert.equal(late.outcome, 'accepted-not-visible')
})

test('R5, R7: after the last try the error has its history', async () => {
  const fates = ['busy', 'rate', 'not-connected', 'busy', 'busy', 'busy'] as const
  const { error, registry } = await publish({ fates })
  assert.ok(isError(error, 'HDL_REGISTRY_UNAVAILABLE'))
  assert.equal(error.details.tries, 5, 'four, and one that was refused for its rate')
  assert.deepEqual(
    error.errors?.map((each) => (each as HeddleError).code),
    [
      'HDL_REGISTRY_UNAVAILABLE',
      'HDL_REGISTRY_RATE',
      'HDL_REGISTRY_UNAVAILABLE',
      'HDL_REGISTRY_UNAVAILABLE',
      'HDL_REGISTRY_UNAVAILABLE',
    ],
  )
  assert.equal(registry.accepted, 0)
  const uploads = registry.history.filter(({ what }) => what === 'upload')
  assert.equal(uploads.length, 5)
  const refused = await publish({ fates: Array.from({ length: 99 }, () => 'rate' as const) })
  assert.ok(isError(refused.error, 'HDL_REGISTRY_RATE'))
  assert.equal(refused.registry.history.filter(({ what }) => what === 'upload').length, 12)
})

test('reads that fail temporarily do not end the search for a lost answer', async () => {
  const failingReads = new Set([1, 2, 3])
  const { outcome } = await publish({ fates: ['lost-answer'], failingReads })
  assert.equal(outcome, 'published')
})

test('when nothing can be read any more, the error is that of the upload', async () => {
  const failingReads = new Set(Array.from({ length: 99 }, (_, i) => i + 1))
  const { error, registry } = await publish({ fates: ['lost-answer'], failingReads })
  assert.ok(isError(error, 'HDL_REGISTRY_UNAVAILABLE'))
  assert.match(error.message, /answer got lost/)
  assert.equal(error.details.outcome, 'unknown')
  assert.equal(registry.history.filter(({ what }) => what === 'upload').length, 1)
})

test('the caller notes each upload before it begins', async () => {
  const noted: string[] = []
  const kernel = virtualKernel(largest)
  const registry = new ModelRegistry({ kernel, fates: ['busy'] })
  const onUpload = (attempt: number): void =>
    void noted.push(
      `${attempt} after ${registry.history.filter((h) => h.what === 'upload').length}`,
    )
  const options = { distTag: 'latest', kernel, onUpload }
  await kernel.clock.runUntil(publishOnce(registry, paperPackage(), options))
  assert.deepEqual(noted, ['0 after 0', '1 after 1'])
  const stopped = new ModelRegistry({ kernel, fates: [] })
  const refuse = (): never => {
    throw new Error('the journal is full')
  }
  const refused = publishOnce(stopped, paperPackage(), {
    distTag: 'latest',
    kernel,
    onUpload: refuse,
  })
  await assert.rejects(kernel.clock.runUntil(refused), /journal is full/)
  assert.equal(kinds(stopped), 'r')
})

test('a signal ends the wait, a deadline too; no timer is left behind', async () => {
  const kernel = virtualKernel(largest)
  const registry = new ModelRegistry({ kernel, fates: ['lost-request'] })
  const abort = new AbortController()
  const options = { distTag: 'latest', kernel, signal: abort.signal }
  const work = publishOnce(registry, paperPackage(), options)
  const failed = assert.rejects(work, (error) => isError(error, 'HDL_CANCELLED'))
  await kernel.clock.advance(10_000)
  abort.abort(new Error('enough'))
  await failed
  assert.equal(kernel.clock.pending, 0)
  const hurried = await publish({ fates: ['lost-request'] }, { deadline: 10_000 })
  assert.ok(isError(hurried.error, 'HDL_TIMEOUT'))
})

test('what is done about a failed upload is said before it is done', async () => {
  const said: string[] = []
  const onFailure = ({ next, for: ms }: UploadFailure): void => void said.push(`${next} ${ms}`)
  const fates = ['lost-request', 'not-connected', 'rate', 'taken'] as const
  await publish({ fates }, { onFailure, backoff: { base: 1_000, cap: 60_000 } })
  assert.deepEqual(said, ['look 20000', 'upload 1000', 'upload 2000', 'upload 1000'])
  said.length = 0
  await publish({ fates: ['unauthorized'] }, { onFailure })
  assert.deepEqual(said, [])
})
