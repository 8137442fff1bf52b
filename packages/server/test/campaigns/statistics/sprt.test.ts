import assert from 'node:assert/strict'
import { test } from 'node:test'
import { estimateBayesSprt } from '../../../src/campaigns/statistics/bayes-elo.ts'
import { estimateElo, plainInterval, type Counts } from '../../../src/campaigns/statistics/elo.ts'
import { logLikelihoodRatio } from '../../../src/campaigns/statistics/likelihood.ts'
import {
  estimateSprt,
  noOvershoot,
  observeOvershoot,
  sprtBounds,
  sprtState,
  type OvershootState,
} from '../../../src/campaigns/statistics/sprt.ts'
import oracle from './oracle.json' with { type: 'json' }

interface OracleCase {
  readonly name: string
  readonly penta: number[]
  readonly results: number[]
  readonly model: 'logistic' | 'normalized'
  readonly elo0: number
  readonly elo1: number
  readonly llr: number
  readonly elo: number
  readonly ci: [number, number]
  readonly LOS: number
  readonly wins: number
  readonly draws: number
  readonly losses: number
  readonly out: never
  readonly log: [number, number[], number, Record<string, number>][]
  readonly final: { p: number[]; llr: number; state: string; overshoot: Record<string, number> }
}

const cases = oracle.cases as unknown as readonly OracleCase[]

function near(actual: number, expected: number, tolerance: number, what: string): void {
  assert.ok(Math.abs(actual - expected) <= tolerance, `${what}: ${actual}, expected ${expected}`)
}

/** LLR to 1e-9, all else to 1e-6. */
const llrWithin = 1e-9
const eloWithin = 1e-6

function casesOf(name: string): readonly OracleCase[] {
  const found = cases.filter((each) => each.name === name)
  assert.ok(found.length > 0)
  return found
}

test('the oracle: SPRT of pairs, logistic and normalised, with zero counts and a single game', () => {
  for (const { penta, model, elo0, elo1, llr, elo, ci, LOS } of casesOf('sprt')) {
    const what = `${penta.join(' ')} ${model} ${elo0} ${elo1}`
    const found = estimateSprt(penta, { model, elo0, elo1 })
    near(found.llr, llr, llrWithin, `${what} llr`)
    near(found.elo, elo, eloWithin, `${what} elo`)
    near(found.interval[0], ci[0], eloWithin, `${what} low`)
    near(found.interval[1], ci[1], eloWithin, `${what} high`)
    near(found.los, LOS, eloWithin, `${what} los`)
  }
})

test('the oracle agrees about Elo with error bars of games and of pairs', () => {
  for (const { results, out } of casesOf('get_elo')) {
    const [elo, error, los] = out as [number, number, number]
    const found = estimateElo(results)
    near(found.elo, elo, eloWithin, `${results.join(' ')} elo`)
    near(found.error, error, eloWithin, `${results.join(' ')} error`)
    near(found.los, los, eloWithin, `${results.join(' ')} los`)
  }
  for (const { results, out } of casesOf('ob_elo')) {
    for (const [index, value] of plainInterval(results).entries()) {
      near(value, out[index], eloWithin, `${results.join(' ')} ${index}`)
    }
  }
})

test('the oracle agrees about bounds in BayesElo', () => {
  for (const { wins, draws, losses, elo0, elo1, out } of casesOf('bayes_trinomial')) {
    const expected = out as { LLR: number; elo: number; ci: [number, number]; a: number; b: number }
    const found = estimateBayesSprt([losses, draws, wins], { elo0, elo1 })
    near(found.llr, expected.LLR, llrWithin, 'llr')
    near(found.elo, expected.elo, eloWithin, 'elo')
    near(found.interval[0], expected.ci[0], eloWithin, 'low')
    near(found.interval[1], expected.ci[1], eloWithin, 'high')
    near(found.lower, expected.a, llrWithin, 'a')
    near(found.upper, expected.b, llrWithin, 'b')
  }
  const [penta] = casesOf('openbench_penta')
  const { results, elo0, elo1, out } = penta!
  near(logLikelihoodRatio(results, elo0, elo1, 'normalized'), out, llrWithin, 'llr')
})

test('the oracle: the course of a test and the correction for overshoot', () => {
  const [course] = casesOf('seq')
  const bounds = sprtBounds({ elo0: 0, elo1: 2 })
  const llrOf = (counts: readonly number[]): number =>
    logLikelihoodRatio(counts, 0, 2, 'normalized')
  for (const [, counts, llr] of course!.log) near(llrOf(counts), llr, llrWithin, counts.join(' '))
  const { p, llr, overshoot } = course!.final
  near(llrOf(p), llr, llrWithin, 'the last llr')
  const kept: OvershootState = {
    samples: overshoot['last_update']!,
    skipped: 0,
    low: { at: overshoot['ref0']!, sum: overshoot['m0']!, squares: overshoot['sq0']! },
    high: { at: overshoot['ref1']!, sum: overshoot['m1']!, squares: overshoot['sq1']! },
  }
  assert.equal(sprtState(llr, bounds, kept), 'accepted')
  assert.equal(sprtState(llr, bounds, undefined), 'running')
})

test('overshoot: steps to new extremes are summed; skipped samples start again, fewer drop it', () => {
  const one = observeOvershoot(noOvershoot, -0.5, 1)!
  assert.deepEqual(one.low, { at: -0.5, sum: -0.5, squares: 0.25 })
  assert.deepEqual(one.high, noOvershoot.high)
  const two = observeOvershoot(one, 0.25, 2)!
  assert.deepEqual(two.high, { at: 0.25, sum: 0.25, squares: 0.0625 })
  assert.equal(observeOvershoot(two, 0.25, 2), two)
  const skipped = observeOvershoot(two, 1, 5)!
  assert.equal(skipped.skipped, 2)
  assert.deepEqual(skipped.high, { at: 1, sum: 0, squares: 0 })
  assert.equal(observeOvershoot(skipped, 1, 4), undefined)
})

test('zero counts, a single game and no game do not throw', () => {
  for (const counts of [
    [0, 0, 0],
    [1, 0, 0],
    [0, 0, 1],
    [0, 0, 0, 0, 0],
    [0, 0, 0, 0, 7],
  ]) {
    for (const model of ['logistic', 'normalized'] as const) {
      const found = estimateSprt(counts, { elo0: 0, elo1: 5, model })
      assert.ok(Number.isFinite(found.llr) && Number.isFinite(found.elo), counts.join(' '))
    }
    assert.ok(Number.isFinite(estimateElo(counts).elo))
  }
})

test('hypotheses that are far apart have a ratio too, and it points to the nearer one', () => {
  const far: readonly (readonly [counts: Counts, elo0: number, elo1: number])[] = [
    [[10, 20, 10], 0, 600],
    [[100, 200, 300, 200, 100], 0, 400],
    [[100, 200, 300, 200, 100], 0, 1_000],
    [[1, 0, 0], 0, 1_000],
    [[2 ** 32, 2 ** 32, 2 ** 32, 2 ** 32, 2 ** 32], 0, 1_000],
  ]
  for (const [counts, elo0, elo1] of far) {
    const text = `${counts.join(' ')}: ${elo0} to ${elo1}`
    const ratio = logLikelihoodRatio(counts, elo0, elo1, 'normalized')
    assert.ok(ratio < 0 && Number.isFinite(ratio), `${text}: ${ratio}`)
    const turned = logLikelihoodRatio(counts.toReversed(), -elo1, -elo0, 'normalized')
    assert.ok(Math.abs(ratio + turned) <= 1e-6 * Math.abs(ratio), `${text}: ${ratio}, ${turned}`)
  }
})
