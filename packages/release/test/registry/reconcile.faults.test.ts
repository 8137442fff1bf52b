/** The fault matrix of the specification (B.2) and its scenarios, against a real verdaccio. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { isError } from '@heddle/core'
import { classOf } from '../../src/registry/error-class.ts'
import { npmRegistry } from '../../src/registry/npm/npm-registry.ts'
import { publishOnce, type PublishOptions } from '../../src/registry/reconcile.ts'
import { waitVisible } from '../../src/registry/visible.ts'
import { startFaultProxy, type FaultProxy } from '../../src/testing/fault-proxy.ts'
import type { FaultRule } from '../../src/testing/fault-rules.ts'
import { startVerdaccio, type Verdaccio } from '../../src/testing/verdaccio.ts'
import type { VisibleAfter } from '../../src/testing/visibility.ts'
import { packNpm, scratch } from '../support/packed.ts'
import { until } from '../../../core/test/kernel/until.ts'
import { inVirtualTime, largest, virtualKernel } from '../support/virtual-time.ts'

let verdaccio: Verdaccio
let temporary: Awaited<ReturnType<typeof scratch>>
before(async () => {
  verdaccio = await startVerdaccio()
  temporary = await scratch()
})
after(async () => {
  await verdaccio.close()
  await temporary[Symbol.asyncDispose]()
})

let packages = 0

interface Ended {
  readonly outcome: string
  readonly error?: unknown
  /** What the registry itself took. */
  readonly accepted: number
  readonly sent: number
  /** What a read without the proxy says. */
  readonly truth: string
  readonly took: number
  readonly proxy: FaultProxy
}

/** Publishes a new package through a proxy with these rules, in virtual time. */
async function publishThrough(
  rules: readonly FaultRule[],
  options: Partial<PublishOptions> & { visibleAfter?: VisibleAfter } = {},
): Promise<Ended> {
  const kernel = virtualKernel(largest)
  const { visibleAfter = 0, ...publish } = options
  await using proxy = await startFaultProxy({ target: verdaccio.url, rules, visibleAfter, kernel })
  await using registry = npmRegistry({ url: proxy.url, token: 'anybody', kernel })
  const packed = await packNpm(temporary.folder, `@fault/p${packages++}`, '1.0.0')
  const work = publishOnce(registry, packed, { distTag: 'latest', kernel, ...publish }).then(
    ({ outcome }) => ({ outcome }),
    (error: unknown) => ({ outcome: String(classOf(error)), error }),
  )
  const ended = await inVirtualTime(kernel.clock, () => proxy.active > 0, work)
  await using direct = npmRegistry({ url: verdaccio.url })
  const { is } = await direct.compare(packed)
  const count = proxy.uploads.get(`${packed.name}@1.0.0`) ?? { sent: 0, accepted: 0 }
  return { ...ended, ...count, truth: is, took: kernel.clock.now(), proxy }
}

const failedToSave = {
  error: 'Failed to save packument. A common cause is a write at the same time.',
}

const matrix: readonly {
  readonly name: string
  readonly rules: readonly FaultRule[]
  readonly outcome: string
  readonly sent: number
  readonly accepted: number
}[] = [
  { name: 'no fault', rules: [], outcome: 'accepted', sent: 1, accepted: 1 },
  {
    name: '500 forever',
    rules: [{ upload: true, status: 500 }],
    outcome: 'transient',
    sent: 4,
    accepted: 0,
  },
  {
    name: 'scenario 89: 409 "Failed to save packument" once',
    rules: [{ upload: true, status: 409, body: failedToSave, times: 1 }],
    outcome: 'accepted',
    sent: 2,
    accepted: 1,
  },
  {
    name: 'scenario 88: 504 after the registry committed',
    rules: [{ upload: true, status: 504, afterCommit: true, times: 1 }],
    outcome: 'published',
    sent: 1,
    accepted: 1,
  },
  {
    name: 'scenario 87: 429 with Retry-After, once',
    rules: [{ upload: true, status: 429, headers: { 'retry-after': '1' }, times: 1 }],
    outcome: 'accepted',
    sent: 2,
    accepted: 1,
  },
  {
    name: 'the connection is cut after the registry committed',
    rules: [{ upload: true, cut: 'before-answer', times: 1 }],
    outcome: 'published',
    sent: 1,
    accepted: 1,
  },
  {
    name: 'the connection is cut in the answer',
    rules: [{ upload: true, cut: 'in-answer', times: 1 }],
    outcome: 'published',
    sent: 1,
    accepted: 1,
  },
  {
    name: 'the connection is cut in the request',
    rules: [{ method: 'PUT', cut: 'in-request', times: 1 }],
    outcome: 'accepted',
    // The one that was cut never arrived as a whole.
    sent: 1,
    accepted: 1,
  },
  {
    name: '503 twice, then it works',
    rules: [{ upload: true, status: 503, times: 2 }],
    outcome: 'accepted',
    sent: 3,
    accepted: 1,
  },
  {
    name: 'reads fail for a while, before and after a lost answer',
    rules: [
      { upload: true, status: 504, afterCommit: true, times: 1 },
      { method: 'GET', status: 502, times: 6 },
      { method: 'GET', cut: 'in-answer', skip: 4, times: 2 },
    ],
    outcome: 'transient',
    sent: 0,
    accepted: 0,
  },
  {
    name: 'scenario 91: 401',
    rules: [{ upload: true, status: 401 }],
    outcome: 'auth',
    sent: 1,
    accepted: 0,
  },
  {
    name: 'scenario 91: 403',
    rules: [{ upload: true, status: 403, body: { error: 'forbidden' } }],
    outcome: 'auth',
    sent: 1,
    accepted: 0,
  },
  {
    name: 'scenario 91: 404 on PUT',
    rules: [{ upload: true, status: 404, body: { error: 'Not found' } }],
    outcome: 'auth',
    sent: 1,
    accepted: 0,
  },
  {
    name: 'scenario 91: EOTP',
    rules: [{ upload: true, status: 401, headers: { 'www-authenticate': 'OTP' } }],
    outcome: 'auth',
    sent: 1,
    accepted: 0,
  },
  {
    name: 'poison: 413 before the body has been read',
    rules: [{ method: 'PUT', status: 413, early: true }],
    outcome: 'poison',
    sent: 0,
    accepted: 0,
  },
]

for (const { name, rules, outcome, sent, accepted } of matrix) {
  test(`fault matrix: ${name}`, async () => {
    const ended = await publishThrough(rules)
    assert.equal(ended.outcome, outcome, String(ended.error))
    assert.equal(ended.sent, sent)
    assert.equal(ended.accepted, accepted)
    assert.equal(ended.truth, accepted === 1 ? 'ours' : 'absent', 'what the registry holds')
  })
}

test('fault matrix: 500 forever ends after 4 tries, with a read before each', async () => {
  const { proxy, error } = await publishThrough([{ upload: true, status: 500 }])
  assert.ok(isError(error, 'HDL_REGISTRY_UNAVAILABLE'))
  const steps = proxy.log.map(({ method }) => (method === 'PUT' ? 'u' : 'r')).join('')
  assert.match(steps, /^(r+u){4}r+$/)
})

test('scenario 87: the upload waits as long as the registry asks', async () => {
  const headers = { 'retry-after': '42' }
  const { took } = await publishThrough([{ upload: true, status: 429, headers, times: 1 }])
  assert.ok(took >= 42_000 && took < 45_000, `took ${took} ms`)
})

test('scenario 88 with late visibility: the lost answer is found when the version shows', async () => {
  const rules = [{ upload: true, status: 504, afterCommit: true, times: 1 }]
  const ended = await publishThrough(rules, { visibleAfter: 15_000 })
  assert.equal(ended.outcome, 'published')
  assert.deepEqual([ended.sent, ended.accepted], [1, 1])
})

test('scenario 88 with very late visibility: accepted, not yet visible', async () => {
  const rules = [{ upload: true, status: 504, afterCommit: true, times: 1 }]
  const ended = await publishThrough(rules, { visibleAfter: 20 * 60_000 })
  assert.equal(ended.outcome, 'accepted-not-visible')
  assert.equal(ended.accepted, 1, 'the registry refused the second one')
  assert.equal(ended.truth, 'ours')
})

test('a duplicate run finds the version and uploads nothing', async () => {
  const packed = await packNpm(temporary.folder, '@fault/twice', '1.0.0')
  await using proxy = await startFaultProxy({ target: verdaccio.url })
  await using registry = npmRegistry({ url: proxy.url, token: 'anybody' })
  const once = async (): Promise<string> =>
    (await publishOnce(registry, packed, { distTag: 'latest' })).outcome
  assert.equal(await once(), 'accepted')
  assert.equal(await once(), 'already-published')
  assert.deepEqual(proxy.uploads.get('@fault/twice@1.0.0'), { sent: 1, accepted: 1 })
})

test('two runs at the same moment: one upload is taken, both end well', async () => {
  const packed = await packNpm(temporary.folder, '@fault/race', '1.0.0')
  const kernel = virtualKernel()
  await using proxy = await startFaultProxy({
    target: verdaccio.url,
    rules: [{ upload: true, delay: 50 }],
    kernel,
  })
  await using registry = npmRegistry({ url: proxy.url, token: 'anybody' })
  const once = (): Promise<string> =>
    publishOnce(registry, packed, { distTag: 'latest' }).then(({ outcome }) => outcome)
  const both = Promise.all([once(), once()])
  // Both have read before the first upload gets to the registry.
  await until(() => kernel.clock.pending === 2)
  await kernel.clock.advance(50)
  assert.deepEqual((await both).sort(), ['accepted', 'published'])
  assert.equal(proxy.uploads.get('@fault/race@1.0.0')?.accepted, 1)
})

test('another user published different content: a conflict, also when it appears after the upload', async () => {
  const first = await packNpm(temporary.folder, '@fault/other', '1.0.0')
  await using direct = npmRegistry({ url: verdaccio.url, token: 'anybody' })
  await direct.upload(first, { distTag: 'latest' })
  const second = await packNpm(temporary.folder, '@fault/other', '1.0.0', {}, { 'x.js': '1' })
  await assert.rejects(publishOnce(direct, second, { distTag: 'latest' }), (error) =>
    isError(error, 'HDL_VERSION_CONFLICT'),
  )
  // The first read finds nothing.
  await using proxy = await startFaultProxy({
    target: verdaccio.url,
    rules: [{ method: 'GET', status: 404, times: 2 }],
  })
  await using registry = npmRegistry({ url: proxy.url, token: 'anybody' })
  await assert.rejects(publishOnce(registry, second, { distTag: 'latest' }), (error) => {
    assert.ok(isError(error, 'HDL_VERSION_CONFLICT'))
    return error.details.found === first.artifacts[0]!.integrity
  })
  assert.equal(proxy.uploads.get('@fault/other@1.0.0')?.accepted, 0)
})

test('fault matrix: cancelled in the middle of an upload, then run again', async () => {
  const packed = await packNpm(temporary.folder, '@fault/interrupted', '1.0.0')
  await using proxy = await startFaultProxy({
    target: verdaccio.url,
    rules: [{ upload: true, afterCommit: true, hang: true, times: 1 }],
  })
  await using registry = npmRegistry({ url: proxy.url, token: 'anybody' })
  const abort = new AbortController()
  const work = publishOnce(registry, packed, { distTag: 'latest', signal: abort.signal })
  const failed = assert.rejects(work, (error) => isError(error, 'HDL_CANCELLED'))
  while (proxy.uploads.get('@fault/interrupted@1.0.0')?.accepted !== 1) {
    await new Promise((done) => setTimeout(done, 2))
  }
  abort.abort(new Error('interrupted'))
  await failed
  const again = await publishOnce(registry, packed, { distTag: 'latest', uploadBegun: true })
  assert.equal(again.outcome, 'published')
  assert.deepEqual(proxy.uploads.get('@fault/interrupted@1.0.0'), { sent: 1, accepted: 1 })
})

test('scenario 94: visible after 15 minutes; nothing is held during the wait', async () => {
  const kernel = virtualKernel()
  await using proxy = await startFaultProxy({
    target: verdaccio.url,
    visibleAfter: 15 * 60_000,
    kernel,
  })
  await using registry = npmRegistry({ url: proxy.url, token: 'anybody', kernel })
  const packed = await packNpm(temporary.folder, '@fault/late', '1.0.0')
  const busy = (): boolean => proxy.active > 0
  await inVirtualTime(
    kernel.clock,
    busy,
    publishOnce(registry, packed, { distTag: 'latest', kernel }),
  )
  const seen = await inVirtualTime(
    kernel.clock,
    busy,
    waitVisible(registry, packed, { kernel }),
    500,
  )
  assert.equal(seen.is, 'visible')
  assert.ok(seen.waited >= 15 * 60_000 - 1000 && seen.waited < 16 * 60_000, `${seen.waited} ms`)
})

test('the whole run stays under a rate limit of the registry, and everything is published', async () => {
  const kernel = virtualKernel()
  await using proxy = await startFaultProxy({
    target: verdaccio.url,
    rateLimit: { requests: 20, per: 10_000 },
    kernel,
  })
  await using registry = npmRegistry({ url: proxy.url, token: 'anybody', kernel })
  const all = await Promise.all(
    Array.from({ length: 30 }, (_, i) => packNpm(temporary.folder, `@rate/p${i}`, '1.0.0')),
  )
  const work = Promise.all(
    all.map((packed) => publishOnce(registry, packed, { distTag: 'latest', kernel })),
  )
  const results = await inVirtualTime(kernel.clock, () => proxy.active > 0, work)
  assert.ok(results.every(({ outcome }) => outcome === 'accepted'))
  for (const packed of all) assert.equal(proxy.uploads.get(`${packed.name}@1.0.0`)?.accepted, 1)
  const refused = proxy.log.filter(({ answer }) => answer === 429).length
  assert.ok(refused < proxy.log.length / 3, `${refused} of ${proxy.log.length} were refused`)
})
