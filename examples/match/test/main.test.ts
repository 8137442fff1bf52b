import assert from 'node:assert/strict'
import { test } from 'node:test'
import { playGame, playPair } from '../engine.ts'
import { moves, play, score, start } from '../game.ts'
import { runExample } from '../main.ts'

test('no seed is lost, and a game ends', () => {
  for (let pair = 0; pair < 50; pair++) {
    const { moves: made, result } = playGame(
      [
        { depth: 1, house: 0 },
        { depth: 2, house: 30 },
      ],
      pair,
      0,
    )
    let position = start
    for (const house of made) {
      assert.ok(moves(position).includes(house))
      position = play(position, house)
      assert.equal(
        position.seeds.reduce((sum, seeds) => sum + seeds, 0),
        24,
      )
    }
    assert.deepEqual([moves(position), Math.sign(score(position)) + 1], [[], result])
  }
})

test('a capture and another turn, as the rules say', () => {
  // The last seed falls into the own store: the same player again.
  assert.equal(play(start, 1).turn, 0)
  const position = { seeds: [1, 0, 3, 3, 0, 3, 3, 5, 3, 0], turn: 0 }
  // One seed into the empty house 1: it takes the five of house 7.
  assert.deepEqual(play(position, 0), { seeds: [0, 0, 3, 3, 6, 3, 3, 0, 3, 0], turn: 1 })
})

test('a pair of the same engine with changed sides is the same on every machine', () => {
  const engine = { depth: 2, house: 10 }
  const points = Array.from({ length: 12 }, (_, pair) => playPair(engine, engine, pair).points)
  assert.deepEqual(points, [1, 2, 4, 1, 2, 0, 2, 3, 2, 2, 4, 2])
})

test('three workers: the test stops by itself, the parameter moves, and it is better', async () => {
  const lines: string[] = []
  const sizes = { workers: 3, testPairs: 20_000, tunePairs: 400, games: 200 }
  const report = await runExample(sizes, (line) => lines.push(line))
  assert.deepEqual([report.test.why, report.test.verdict], ['decided', 'accepted'])
  assert.ok(report.test.pairs < 20_000 && report.test.elo.elo > 0)
  assert.equal(
    report.test.total.reduce((sum, count) => sum + count, 0),
    report.test.pairs,
  )
  assert.ok(report.test.games >= 2 * report.test.pairs, `${report.test.games} games were kept`)
  assert.ok(report.house > -60, `house is ${report.house}`)
  assert.equal(
    report.games.total.reduce((sum, count) => sum + count, 0),
    200,
  )
  // No lease was lost on the way.
  assert.deepEqual(Object.keys(report.closed).sort(), ['campaign_ended', 'finished'])
  assert.ok(lines.some((line) => line.includes('pentanomial')))
})
