/** How well the pace finds limits that it does not know, in virtual time. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AdaptiveLimiter } from '../../../src/registry/http/limiter.ts'
import { virtualKernel, type VirtualKernel } from '../../support/virtual-time.ts'

interface Limit {
  readonly requests: number
  readonly per: number
  readonly total: number
  readonly latency: number
}

/** Ten at a time against a registry that counts requests in a window, refused ones too. */
async function underLimit({ requests, per, total, latency }: Limit): Promise<{
  seconds: number
  refused: number
}> {
  const kernel: VirtualKernel = virtualKernel()
  const { clock, random } = kernel
  const limiter = new AdaptiveLimiter({ kernel, registry: 'http://registry.test' })
  const window: number[] = []
  let left = total
  let refused = 0
  const one = async (): Promise<boolean> => {
    const turn = await limiter.pass('request')
    const now = clock.now()
    while (window.length > 0 && window[0]! <= now - per) window.shift()
    window.push(now)
    const isRefused = window.length > requests
    const retryAfter = Math.ceil((window[0]! + per - now) / 1000) * 1000
    const takes = latency * (0.5 + random.next())
    await new Promise<void>((done) => void clock.setTimer(takes, done))
    if (isRefused) limiter.refused(turn, retryAfter)
    else limiter.succeeded()
    return !isRefused
  }
  const worker = async (): Promise<void> => {
    while (left-- > 0) while (!(await one())) refused++
  }
  await clock.runUntil(Promise.all(Array.from({ length: 10 }, worker)))
  return { seconds: clock.now() / 1000, refused }
}

for (const limit of [
  { requests: 20, per: 10_000, total: 110, latency: 20 },
  { requests: 20, per: 10_000, total: 600, latency: 30 },
  { requests: 25, per: 30_000, total: 200, latency: 30 },
  { requests: 100, per: 60_000, total: 600, latency: 30 },
  { requests: 5, per: 1000, total: 600, latency: 50 },
]) {
  const { requests, per, total } = limit
  test(`${total} requests under a limit of ${requests} in ${per / 1000} s`, async (t) => {
    const { seconds, refused } = await underLimit(limit)
    const ideal = (total / requests) * (per / 1000)
    t.diagnostic(`${seconds.toFixed(0)} s of ${ideal.toFixed(0)}, ${refused} refused`)
    assert.ok(seconds < 1.35 * ideal, `${seconds} s instead of ${ideal}`)
    assert.ok(refused < 0.15 * total, `${refused} of ${total} were refused`)
  })
}
