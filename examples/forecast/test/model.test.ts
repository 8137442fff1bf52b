import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '@heddle/core/lowlevel'
import { fanChart } from '../chart.ts'
import { fit, forecast, levels } from '../model.ts'

const none = (): void => undefined

/** A series whose changes follow their predecessors, with noise. */
function wandering(length: number, seed: number): number[] {
  const random = seededRandom(seed)
  const values = [120]
  let change = 0
  for (let i = 1; i < length; i++) {
    change = 0.7 * change + (random.next() - 0.5) * 4 - 0.02 * (values[i - 1]! - 120)
    values.push(values[i - 1]! + change)
  }
  return values
}

test('nine of ten values that the model has not seen are in the widest band, on the whole', () => {
  let [inside, seen] = [0, 0]
  let [ours, naive] = [0, 0]
  for (let seed = 1; seed <= 20; seed++) {
    const all = wandering(400, seed)
    const model = fit(all.slice(0, 300), 200, none)
    const random = seededRandom(seed)
    for (let end = 300; end <= 394; end += 2) {
      const fan = forecast(model, all.slice(0, end), 6, 200, random)
      const came = all[end + 5]!
      seen++
      if (came >= fan[0]![5]! && came <= fan.at(-1)![5]!) inside++
      ours += Math.abs(fan[2]![5]! - came)
      naive += Math.abs(all[end - 1]! - came)
    }
  }
  const coverage = inside / seen
  assert.ok(coverage > 0.83 && coverage < 0.96, `${coverage} of ${seen}`)
  assert.ok(ours < 0.9 * naive, `${ours / seen} beside ${naive / seen} of the last value repeated`)
})

test('a fan is ordered from below, wider with time, and the same for the same seed', () => {
  const values = wandering(200, 7)
  const model = fit(values, 100, none)
  const fan = forecast(model, values, 12, 500, seededRandom(1))
  for (let step = 0; step < 12; step++) {
    const column = fan.map((quantile) => quantile[step]!)
    assert.deepEqual(
      column,
      column.toSorted((a, b) => a - b),
    )
  }
  const width = (step: number): number => fan.at(-1)![step]! - fan[0]![step]!
  assert.ok(width(11) > width(0))
  assert.deepEqual(forecast(model, values, 12, 500, seededRandom(1)), fan)
})

test('a constant series has a flat forecast, and no NaN', () => {
  const values = Array.from({ length: 60 }, () => 100)
  const fan = forecast(fit(values, 20, none), values, 12, 100, seededRandom(1))
  assert.deepEqual(
    fan,
    levels.map(() => Array.from({ length: 12 }, () => 100)),
  )
  assert.doesNotMatch(fanChart(values, fan, '<flat>'), /NaN|<flat>/)
})

test('work that is not wanted any more ends between two rounds', () => {
  let rounds = 0
  const enough = (): void => {
    if (++rounds === 3) throw new Error('enough')
  }
  assert.throws(() => fit(wandering(100, 1), 1e9, enough), /enough/)
})
