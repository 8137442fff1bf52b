/** Bounds of a test in BayesElo, which has a parameter for draws: older tests of single games are written in it. */
import { eloOf, regularized, type Counts } from './elo.ts'
import { estimateSprt, type SprtEstimate, type SprtOptions } from './sprt.ts'

/** The Elo of a BayesElo at this tendency to draw. */
function bayesToElo(bayesElo: number, drawElo: number): number {
  const win = 1 / (1 + 10 ** ((-bayesElo + drawElo) / 400))
  const loss = 1 / (1 + 10 ** ((bayesElo + drawElo) / 400))
  return eloOf(win + (1 - win - loss) / 2)
}

/** The tendency to draw that these results show. */
function drawEloOf(counts: Counts): number {
  const filled = regularized(counts)
  const games = filled.reduce((sum, count) => sum + count, 0)
  const loss = filled[0]! / games
  const win = filled[2]! / games
  return 200 * Math.log10((((1 - loss) / loss) * (1 - win)) / win)
}

/** A test of single games whose bounds are in BayesElo. */
export function estimateBayesSprt(counts: Counts, options: SprtOptions): SprtEstimate {
  const drawElo = drawEloOf(counts)
  const elo0 = bayesToElo(options.elo0, drawElo)
  const elo1 = bayesToElo(options.elo1, drawElo)
  return estimateSprt(regularized(counts), { ...options, elo0, elo1, model: 'logistic' })
}
