import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Spsa, type SpsaDraw, type SpsaOptions } from '../../../src/campaigns/statistics/spsa.ts'

const options: SpsaOptions = {
  parameters: [{ name: 'x', start: 10, min: 0, max: 100, cEnd: 2, rEnd: 0.01 }],
  steps: 1_000,
}

test('a step moves by R·c·(W − L)·flip of section 8, written out', () => {
  const spsa = new Spsa(options)
  const [draw] = spsa.draw(7, 'seed')
  const c = (2 * 1_000 ** 0.101) / 8 ** 0.101
  const flip = draw!.plus > draw!.minus ? 1 : -1
  assert.ok(Math.abs(draw!.plus - (10 + c * flip)) < 1e-12)
  assert.ok(Math.abs(draw!.minus - (10 - c * flip)) < 1e-12)
  const a = 0.01 * 2 ** 2 * (100 + 1_000) ** 0.602
  const r = a / (100 + 7 + 1) ** 0.602 / c ** 2
  spsa.learn(7, 'seed', 3)
  assert.ok(Math.abs(spsa.theta[0]! - (10 + r * c * 3 * flip)) < 1e-12)
})

test('values stay between their limits, integers are whole and differ', () => {
  const [parameter] = options.parameters
  const spsa = new Spsa({ ...options, parameters: [{ ...parameter!, integer: true, cEnd: 0.1 }] })
  for (let step = 0; step < 200; step++) {
    const [{ plus, minus }] = spsa.draw(step, `s${step}`) as unknown as [SpsaDraw]
    assert.ok(Number.isInteger(plus) && Number.isInteger(minus))
    assert.equal(Math.abs(plus - minus), 1)
    spsa.learn(step, `s${step}`, 1_000)
    assert.ok(spsa.theta[0]! >= 0 && spsa.theta[0]! <= 100)
  }
})

test('it finds the optimum of a game that is won by the side nearer to it', () => {
  const spsa = new Spsa({ ...options, parameters: [{ ...options.parameters[0]!, rEnd: 0.02 }] })
  for (let step = 0; step < 1_000; step++) {
    const [{ plus, minus }] = spsa.draw(step, `s${step}`) as unknown as [SpsaDraw]
    const score = Math.sign(Math.abs(minus - 40) - Math.abs(plus - 40)) * 2
    spsa.learn(step, `s${step}`, score)
  }
  assert.ok(Math.abs(spsa.theta[0]! - 40) < 5, `${spsa.theta[0]}`)
})
