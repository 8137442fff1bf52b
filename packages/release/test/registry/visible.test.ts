import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { test, type TestContext } from 'node:test'
import { isError } from '@heddle/core'
import { HttpClient } from '../../src/registry/http/client.ts'
import { npmRegistry } from '../../src/registry/npm/npm-registry.ts'
import { waitInstallable, waitVisible, type Visibility } from '../../src/registry/visible.ts'
import { ModelRegistry, paperPackage } from '../support/model-registry.ts'
import { startStub } from '../support/servers.ts'
import { until } from '../../../core/test/kernel/until.ts'
import { virtualKernel } from '../support/virtual-time.ts'

const half = { next: () => 0.5 }

test('scenario 94: a version that is visible immediately is found', async () => {
  const kernel = virtualKernel(half)
  const registry = new ModelRegistry({ kernel, fates: [], other: { at: 0, hash: 'sha512-ours' } })
  const seen = await kernel.clock.runUntil(waitVisible(registry, paperPackage(), { kernel }))
  assert.ok(seen.is === 'visible')
  assert.deepEqual([...seen.found.integrity.values()], ['sha512-ours'])
  assert.equal(registry.history.length, 1)
})

test('scenario 94: never visible is said after the budget of 30 minutes', async () => {
  const kernel = virtualKernel(half)
  const registry = new ModelRegistry({ kernel, fates: [] })
  const looks: number[] = []
  const work = waitVisible(registry, paperPackage(), {
    kernel,
    onLook: (_, waited) => looks.push(waited),
  })
  const seen = await kernel.clock.runUntil(work)
  assert.equal(seen.is, 'accepted-not-visible')
  assert.ok(seen.waited >= 1_800_000 && seen.waited < 1_801_000, `${seen.waited}`)
  const gaps = looks.slice(1).map((at, i) => Math.round((at - looks[i]! - 5) / 10) * 10)
  assert.deepEqual(gaps.slice(0, 5), [1000, 1500, 2250, 3380, 5060], 'the gap grows by half')
  assert.equal(gaps[20], 30_000, 'up to 30 s')
  assert.ok(looks.length < 80, `${looks.length} looks`)
  assert.equal(kernel.clock.pending, 0)
})

test('scenario 94: the last check is at the end of the budget', async () => {
  const kernel = virtualKernel(half)
  const other = { at: 0, hash: 'sha512-ours' }
  const registry = new ModelRegistry({ kernel, fates: [], other, visibleAfter: 599_990 })
  const work = waitVisible(registry, paperPackage(), { kernel, budget: 600_000 })
  assert.equal((await kernel.clock.runUntil(work)).is, 'visible')
})

test('different content that appears later is a conflict', async () => {
  const kernel = virtualKernel(half)
  const other = { at: 0, hash: 'sha512-theirs' }
  const registry = new ModelRegistry({ kernel, fates: [], other, visibleAfter: 60_000 })
  const work = waitVisible(registry, paperPackage(), { kernel })
  await assert.rejects(kernel.clock.runUntil(work), (error) =>
    isError(error, 'HDL_VERSION_CONFLICT'),
  )
})

test('checks that fail temporarily do not end it, and the last failure is reported', async () => {
  const kernel = virtualKernel(half)
  const failingReads = new Set([0, 1, 2, 3])
  const other = { at: 0, hash: 'sha512-ours' }
  const registry = new ModelRegistry({ kernel, fates: [], other, failingReads })
  const work = waitVisible(registry, paperPackage(), { kernel })
  assert.equal((await kernel.clock.runUntil(work)).is, 'visible')
  const broken = new ModelRegistry({ kernel, fates: [], failingReads: new Set(Array(99).keys()) })
  const seen = await kernel.clock.runUntil(
    waitVisible(broken, paperPackage(), { kernel, budget: 10_000 }),
  )
  assert.ok(seen.is === 'accepted-not-visible')
  assert.ok(isError(seen.error, 'HDL_REGISTRY_UNAVAILABLE'))
})

test('N-PM: a check that is refused ends it: waiting does not change that', async () => {
  await using stub = await startStub((_, response) => void response.writeHead(401).end())
  await using registry = npmRegistry({ url: stub.url })
  await assert.rejects(waitVisible(registry, paperPackage()), (error) =>
    isError(error, 'HDL_REGISTRY_AUTH'),
  )
  assert.equal(stub.calls.length, 1)
})

test('a signal ends it at once, a deadline is not the budget', async () => {
  const kernel = virtualKernel(half)
  const registry = new ModelRegistry({ kernel, fates: [] })
  const abort = new AbortController()
  const work = waitVisible(registry, paperPackage(), { kernel, signal: abort.signal })
  const failed = assert.rejects(work, (error) => isError(error, 'HDL_CANCELLED'))
  await kernel.clock.advance(10_000)
  abort.abort(new Error('enough'))
  await failed
  const hurried = waitVisible(registry, paperPackage(), { kernel, deadline: 10_000 })
  await assert.rejects(kernel.clock.runUntil(hurried), (error) => isError(error, 'HDL_TIMEOUT'))
  assert.equal(kernel.clock.pending, 0)
})

test('scenario 93, 94: 500 packages wait at once over 10 sockets, and hold none between checks', async () => {
  let isVisible = false
  const archive = 'what was packed'
  const integrity = `sha512-${createHash('sha512').update(archive).digest('base64')}`
  await using stub = await startStub(({ url, headers }, response) => {
    const tarball = `http://${headers.host}/a.tgz`
    if (url === '/a.tgz') response.end(archive)
    else if (isVisible)
      response.end(JSON.stringify({ version: '1.0.0', dist: { integrity, tarball } }))
    else response.writeHead(404).end('{}')
  })
  const kernel = virtualKernel()
  await using http = new HttpClient({ kernel })
  await using registry = npmRegistry({ url: stub.url, http, kernel })
  const paper = paperPackage()
  const packed = { ...paper, artifacts: [{ ...paper.artifacts[0]!, integrity }] }
  const all = Promise.all(
    Array.from({ length: 500 }, (_, i) =>
      waitVisible(registry, { ...packed, name: `p${i}` }, { kernel }),
    ),
  )
  const inFlight = (): number => http.stats().get(stub.url)?.inFlight ?? 0
  const waiting = (): number => http.stats().get(stub.url)?.waiting ?? 0
  const idle = async (): Promise<void> => {
    while (inFlight() + waiting() > 0 || stub.calls.length < 500) {
      await new Promise((done) => setTimeout(done, 1))
    }
  }
  await idle()
  assert.equal(inFlight(), 0, 'between two looks nothing is held')
  isVisible = true
  await kernel.clock.advance(1500)
  const seen = await all
  assert.ok(seen.every(({ is }) => is === 'visible'))
  assert.ok(stub.mostSockets() <= 10, `${stub.mostSockets()} sockets`)
})

test('an archive that ends a byte too early: the archive is reported as missing, with the reason', async () => {
  const archive = 'what was packed'
  const integrity = `sha512-${createHash('sha512').update(archive).digest('base64')}`
  await using stub = await startStub(({ url, headers, socket }, response) => {
    const tarball = `http://${headers.host}/a.tgz`
    const document = { version: '1.0.0', dist: { integrity, tarball } }
    if (url !== '/a.tgz') return void response.end(JSON.stringify(document))
    const head = `HTTP/1.1 200 OK\r\ncontent-length: ${archive.length}\r\n\r\n`
    socket.end(head + archive.slice(0, -1))
  })
  await using registry = npmRegistry({ url: stub.url })
  const paper = paperPackage()
  const packed = { ...paper, artifacts: [{ ...paper.artifacts[0]!, integrity }] }
  const seen = await waitVisible(registry, packed, { budget: 0 })
  assert.ok(seen.is === 'accepted-not-visible')
  assert.equal(seen.lacks, 'archive')
  assert.ok(isError(seen.error, 'HDL_REGISTRY_UNAVAILABLE'))
})

/** The wait for a registry whose archive, or document, comes one byte at a time and never ends. */
async function waitWhileTrickling(
  t: TestContext,
  options: { readonly what: 'archive' | 'document'; readonly budget: number },
  waitFor: typeof waitVisible | typeof waitInstallable = waitVisible,
): Promise<Visibility> {
  let trickling: ServerResponse | undefined
  await using stub = await startStub(({ url, headers }, response) => {
    if ((url === '/a.tgz') === (options.what === 'archive')) {
      response.writeHead(200, { 'content-length': '1000000' })
      trickling = response
      return
    }
    const tarball = `http://${headers.host}/a.tgz`
    response.end(JSON.stringify({ version: '1.0.0', dist: { integrity: 'sha512-ours', tarball } }))
  })
  const kernel = virtualKernel(half)
  await using http = new HttpClient({ kernel })
  await using registry = npmRegistry({ url: stub.url, http, kernel })
  const { budget } = options
  let isOver = false
  const work = waitFor(registry, paperPackage(), { kernel, budget }).finally(() => {
    isOver = true
  })
  await until(() => trickling !== undefined)
  // A piece that has come is noted with its time.
  const { mock } = t.mock.method(kernel.clock, 'now')
  while (!isOver) {
    const before = mock.callCount()
    trickling!.write('x')
    await until(() => mock.callCount() > before || isOver)
    await kernel.clock.advance(10_000)
  }
  return await work
}

for (const [name, waitFor] of Object.entries({ waitVisible, waitInstallable })) {
  test(`scenario 94: an archive that trickles ends ${name} with the budget, and that is the reason`, async (t) => {
    const seen = await waitWhileTrickling(t, { what: 'archive', budget: 60_000 }, waitFor)
    assert.ok(seen.is === 'accepted-not-visible')
    assert.equal(seen.lacks, 'archive')
    assert.equal(seen.waited, 60_000)
    assert.ok(isError(seen.error, 'HDL_TIMEOUT'))
    assert.equal(seen.error.message, 'GET a.tgz timed out after 60000 ms.')
  })
}

test('scenario 94: a document that trickles ends with the budget too', async (t) => {
  const seen = await waitWhileTrickling(t, { what: 'document', budget: 60_000 })
  assert.ok(seen.is === 'accepted-not-visible')
  assert.equal(seen.lacks, 'version')
  assert.equal(seen.waited, 60_000)
})

test('scenario 94: a check at the end of the budget has ten seconds', async (t) => {
  const seen = await waitWhileTrickling(t, { what: 'archive', budget: 0 })
  assert.ok(seen.is === 'accepted-not-visible')
  assert.equal(seen.waited, 10_000)
})
