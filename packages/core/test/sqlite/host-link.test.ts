import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../src/kernel/clock.ts'
import { HostLink, type HostLinkOptions } from '../../src/sqlite/host-link.ts'
import { serviceConformance } from '../../src/testing/service-conformance.ts'

async function openLink(
  more: Pick<HostLinkOptions, 'gather'> = {},
): Promise<{ link: HostLink; reports: unknown[]; ends: unknown[] }> {
  const reports: unknown[] = []
  const ends: unknown[] = []
  const link = new HostLink({
    entry: new URL('./fixtures/echo-thread.ts', import.meta.url),
    name: 'echo',
    data: {},
    store: 'echo.db',
    what: 'The echo',
    clock: systemClock,
    ...more,
    onReport: (report) => reports.push(report),
    onEnd: (error) => ends.push(error.code),
  })
  assert.equal(await link.open(), 'opened')
  return { link, reports, ends }
}

const body = (size: number): { body: Uint8Array<ArrayBuffer> } => ({ body: new Uint8Array(size) })

test('L1: requests of one tick travel together, in order', async () => {
  const { link, reports } = await openLink()
  const sizes = await Promise.all([1, 2, 3].map((size) => link.change(body(size))))
  assert.deepEqual(sizes, [1, 2, 3])
  assert.equal(await link.ask({ type: 'messages' }), 1, 'one commit')
  assert.equal(reports.at(-1), 1)
  await link.stop()
})

test('L1: a link that gathers sends the requests of one turn of the loop together', async () => {
  const { link, reports } = await openLink({ gather: 'turn' })
  const first = link.change(body(1))
  // Later ticks of the same turn.
  await Promise.resolve()
  await Promise.resolve()
  assert.deepEqual(await Promise.all([first, link.change(body(2))]), [1, 2])
  assert.equal(await link.ask({ type: 'messages' }), 1, 'one commit')
  assert.equal(reports.at(-1), 1)
  await link.stop()
})

test('L2: answers and errors cross; open requests fail when the thread ends, and so do later ones', async () => {
  const { link, ends } = await openLink()
  await assert.rejects(link.ask({ type: 'throw' }), { code: 'HDL_GONE' })
  const never = link.ask({ type: 'never' })
  await Promise.all([
    assert.rejects(never, { code: 'HDL_STORE_FAILED', message: /ended with code 3/ }),
    assert.rejects(link.ask({ type: 'exit' }), { code: 'HDL_STORE_FAILED' }),
  ])
  assert.deepEqual(ends, ['HDL_STORE_FAILED'])
  await assert.rejects(link.change(body(1)), { code: 'HDL_STORE_FAILED' })
})

test('L2: stopping answers earlier requests, and refuses later ones', async () => {
  const { link, ends } = await openLink()
  const before = link.change(body(7))
  const stopped = link.stop()
  await assert.rejects(link.change(body(1)), { code: 'HDL_CLOSED', message: /^The echo/ })
  assert.equal(await before, 7)
  await stopped
  assert.deepEqual(ends, [])
})

test('L3: a request that cannot be sent fails alone', async () => {
  const { link } = await openLink()
  const good = link.change(body(20_000))
  const bad = link.change({ body: () => 1 })
  const behind = link.change(body(3))
  await assert.rejects(bad, { code: 'HDL_STORE_FAILED', message: /echo\.db.*could not be cloned/ })
  assert.deepEqual([await good, await behind], [20_000, 3])
  await link.stop()
})

test('shared memory is copied, memory of its own is given away', async () => {
  const { link } = await openLink()
  // Node 22 has a smaller pool than Node 24: this buffer is cut explicitly.
  const pooled = Buffer.from(new ArrayBuffer(65_536), 64, 20_000)
  const part = new Uint8Array(40_000).subarray(0, 20_000)
  const whole = new Uint8Array(20_000)
  for (const bytes of [pooled, part, whole]) {
    assert.equal(await link.change({ body: bytes }, bytes), 20_000)
  }
  assert.deepEqual([pooled.length, part.length, whole.length], [20_000, 20_000, 0])
  await link.stop()
})

test('L4: of a large value no more is under way than the thread may have unwritten', async () => {
  const { link } = await openLink()
  const piece = 2 ** 20
  let made = 0
  async function* pieces(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    while (made++ < 20) yield new Uint8Array(piece)
  }
  const streamed = link.stream({}, pieces())
  for (let i = 0; i < 10; i++) await link.ask({ type: 'messages' })
  assert.equal(made, 4, 'pieces before any was written')
  await link.ask({ type: 'release' })
  assert.equal(await streamed, 20 * piece)
  async function* broken(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    yield new Uint8Array(10)
    throw new Error('not plain data')
  }
  await assert.rejects(link.stream({}, broken()), /not plain data/)
  assert.equal(link.pending, 0)
  await link.stop()
})

test('L5: the thread keeps the process alive only while a request is open', async () => {
  const { link } = await openLink()
  const isHolding = (): boolean => process.getActiveResourcesInfo().includes('MessagePort')
  assert.equal(isHolding(), false)
  const change = link.change(body(1))
  assert.equal(isHolding(), true)
  await change
  assert.equal(isHolding(), false)
  await link.stop()
})

serviceConformance('link to a host thread', async () => {
  const { link } = await openLink()
  return {
    service: link,
    occupy: () => void link.ask({ type: 'never' }).catch(() => undefined),
    held: () => link.pending,
  }
})

test('stop() at its deadline ends a thread that does not answer, and fails its requests', async () => {
  const { link, ends } = await openLink()
  const never = assert.rejects(link.ask({ type: 'never' }), { code: 'HDL_CLOSED' })
  await link.stop({ deadline: 0 })
  await never
  assert.deepEqual([link.stats(), ends], [{ state: 'stopped', pending: 0 }, []])
})
